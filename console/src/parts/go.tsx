import { useRouter } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { CONSOLE } from '../api.ts';

/**
 * A link within the console, for rows of tables. A link of the router re-renders when the address changes, to show
 * whether it is the current one; a hundred of them cost more per key press than everything else on the screen.
 */
export function Go({ to, children }: { to: string; children: ReactNode }) {
  const router = useRouter();
  return (
    <a
      href={CONSOLE + to}
      onClick={(e) => {
        if (e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
        e.preventDefault();
        void router.navigate({ to: to as never });
      }}
    >
      {children}
    </a>
  );
}
