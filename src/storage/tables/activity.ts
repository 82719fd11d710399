import type { Selectable } from 'kysely';
import type { Encrypted } from '../../kernel/encryption.ts';
import type { Id } from '../../kernel/ids.ts';
import type { SecretHash } from '../../kernel/secrets.ts';

/** Tables of event delivery, costs and anomalies. */
export interface ActivityTables {
  stream_tickets: StreamTicketsTable;
  webhooks: WebhooksTable;
  webhook_deliveries: WebhookDeliveriesTable;
  webhook_attempts: WebhookAttemptsTable;
  costs: CostsTable;
  budgets: BudgetsTable;
  anomalies: AnomaliesTable;
  anomaly_states: AnomalyStatesTable;
}

/** Tickets that open one event stream each. */
export interface StreamTicketsTable {
  token_hash: SecretHash;
  /** JSON of the credential that it replaces, encrypted with the `cookie` key of secrets.json. */
  sealed: Encrypted;
  expires_at: number;
}

/** Webhooks: URLs to which events are delivered. */
export interface WebhooksTable {
  id: Id<'webhook'>;
  /** Owner of the delivered events. If this user is an admin, all events are delivered, unless `by_agent` is set. */
  user_id: Id<'user'>;
  url: string;
  /** 1: an agent set the URL, so only events of its owner's agents are delivered. */
  by_agent: number;
  /** The agent that set the URL, or enabled the webhook. It gets nothing once this agent may not read events. */
  agent_id: Id<'agent'> | null;
  /** JSON array, or null for all. */
  types: string | null;
  /** JSON object of filters on events, or null. */
  filters: string | null;
  /** null: the event as JSON, signed. Otherwise a message of this chat service. Never changes. */
  format: 'slack' | 'teams' | 'discord' | null;
  /** Encrypted with the `cookie` key of secrets.json. Signs every message. */
  secret: Encrypted;
  previous_secret: Encrypted | null;
  previous_until: number | null;
  enabled: number;
  disabled_reason: string | null;
  /** Consecutive failures. */
  failures: number;
  /** No delivery is attempted before this time. */
  paused_until: number;
  created_at: number;
  updated_at: number;
}
export type WebhookRow = Selectable<WebhooksTable>;

/** One message to one webhook. */
export interface WebhookDeliveriesTable {
  id: Id<'delivery'>;
  webhook_id: Id<'webhook'>;
  event_id: string;
  type: string;
  /** JSON as signed and sent. */
  body: string;
  status: 'pending' | 'delivered' | 'dropped';
  attempts: number;
  next_at: number;
  /** Until this time a process is delivering it. */
  lease_until: number;
  last_status: number | null;
  last_error: string | null;
  created_at: number;
  delivered_at: number | null;
}
export type WebhookDeliveryRow = Selectable<WebhookDeliveriesTable>;

/** An attempt of a delivery. */
export interface WebhookAttemptsTable {
  id: string;
  delivery_id: Id<'delivery'>;
  at: number;
  /** null: no answer. */
  status: number | null;
  error: string | null;
  duration_ms: number;
  /** The first 2 KB of the answer, as text. */
  answer: string | null;
}
export type WebhookAttemptRow = Selectable<WebhookAttemptsTable>;

/** A cost attributed to an agent. */
export interface CostsTable {
  id: Id<'cost'>;
  agent_id: Id<'agent'>;
  /** Owner of the agent. Determines who may see it. */
  user_id: Id<'user'>;
  amount: number;
  /** ISO 4217. */
  currency: string;
  tokens: number | null;
  /** The decision to which the cost belongs. */
  audit_id: Id<'audit'> | null;
  /** JSON object. */
  metadata: string;
  created_at: number;
}
export type CostRow = Selectable<CostsTable>;

/** A limit on an agent's usage per window, with the usage of the last window with any usage. */
export interface BudgetsTable {
  id: Id<'budget'>;
  agent_id: Id<'agent'>;
  user_id: Id<'user'>;
  metric: 'cost' | 'tokens' | 'calls';
  /** For metric cost: only costs in this currency are counted. */
  currency: string | null;
  limit_value: number;
  window_kind: 'hour' | 'day' | 'month';
  on_exceed: 'notify' | 'deny';
  used: number;
  window_start: number;
  /** 1: budget.exceeded was emitted for this window and limit. */
  exceeded: number;
  /** When the budget got its window. Earlier decisions are not counted in `used`. Null: at `created_at`. */
  counted_from: number | null;
  created_at: number;
  updated_at: number;
  /** Epoch of the last change. Instances reload rows with a newer epoch. */
  policy_epoch: number;
}
export type BudgetRow = Selectable<BudgetsTable>;

/** Unusual behaviour of an agent. */
export interface AnomaliesTable {
  id: Id<'anomaly'>;
  agent_id: Id<'agent'>;
  /** Owner of the agent. Determines who may see it. */
  user_id: Id<'user'>;
  kind: string;
  severity: string;
  /** JSON number or string. */
  observed: string;
  expected: string;
  /** JSON array of audit ids. */
  evidence: string;
  detected_at: number;
  acknowledged_at: number | null;
  acknowledged_by: string | null;
  note: string | null;
}
export type AnomalyRow = Selectable<AnomaliesTable>;

/** State of the detector per agent. */
export interface AnomalyStatesTable {
  agent_id: Id<'agent'>;
  /** Sequence of the agent's last decision that the detector has examined. */
  seq: number;
  /** JSON. */
  state: string;
}
