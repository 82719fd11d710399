import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

/** The credential that registered an agent, and the grant with which the agent ends. */
export function makersOfAgents({ prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema.alterTable('agents').addColumn('created_by', 'text').execute();
      await db.schema.alterTable('agents').addColumn('grant_id', 'text').execute();
      await db.schema.createIndex(`${prefix}agents_grant`).on('agents').column('grant_id').execute();
    },
  };
}
