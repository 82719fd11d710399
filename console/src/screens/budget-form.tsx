import type { Budget } from 'legate/client';
import { legate } from '../api.ts';
import { FormButton } from '../parts/form.tsx';
import { useAgentChoices } from '../parts/hooks.tsx';
import type { Input } from '../parts/input.tsx';
import { t } from '../texts/index.ts';

export const BUDGETS_STALE = ['budgets', 'dashboard', 'changes'];

type Name = 'agentId' | 'metric' | 'currency' | 'limit' | 'window' | 'onExceed';

/** Creates a budget, or changes an existing one. Agent and kind cannot be changed. */
export function BudgetForm({ id, agent = '' }: { id?: string; agent?: string }) {
  const known = useAgentChoices();
  const limits: readonly Input<Name>[] = [
    { name: 'limit', label: t.limit, type: 'number' },
    {
      name: 'window',
      label: t.window,
      options: [
        ['day', t.windows.day],
        ['hour', t.windows.hour],
        ['month', t.windows.month],
      ],
    },
    {
      name: 'onExceed',
      label: t.onExceed,
      options: [
        ['notify', t.exceeds.notify],
        ['deny', t.exceeds.deny],
      ],
    },
  ];
  return (
    <FormButton<Name, Budget | undefined>
      label={id ? t.edit : t.setBudget}
      title={id ? t.editOf(t.budgetOf(agent)) : t.setBudget}
      stale={BUDGETS_STALE}
      inputs={({ metric }) =>
        id
          ? limits
          : [
              { name: 'agentId', label: t.agent, hint: t.agentIdHint, known },
              {
                name: 'metric',
                label: t.kind,
                options: [
                  ['calls', t.metrics.calls],
                  ['cost', t.metrics.cost],
                  ['tokens', t.metrics.tokens],
                ],
              },
              ...(metric === 'cost'
                ? [{ name: 'currency', label: t.currency, hint: t.currencyHint, optional: true, maxLength: 3 } as const]
                : []),
              ...limits,
            ]
      }
      {...(id && {
        edited: {
          id,
          type: 'budget.updated',
          load: () => legate.budgets.get(id),
          values: (b: Budget | undefined) => ({
            agentId: b?.agentId ?? '',
            metric: b?.metric ?? '',
            currency: b?.currency ?? '',
            limit: String(b?.limit ?? ''),
            window: b?.window ?? '',
            onExceed: b?.onExceed ?? '',
          }),
        },
      })}
      run={({ agentId, metric, currency, limit, window, onExceed }, of, reason) => {
        const fields = { limit: Number(limit), window: window as 'day', onExceed: onExceed as 'deny' };
        if (of) return legate.budgets.update(of.id, { ...fields, reason }, { ifMatch: of });
        const unit = metric === 'cost' && currency?.trim();
        return legate.budgets.create({
          ...fields,
          agentId: agentId.trim(),
          metric: metric as 'calls',
          ...(unit && { currency: unit.toUpperCase() }),
        });
      }}
    />
  );
}
