import { type Migration, type MigrationContext, runStatements, sqlNames } from '../migration.ts';
import { activity } from './activity.ts';
import { authorization } from './authorization.ts';
import { ledger } from './ledger.ts';
import { oauth } from './oauth.ts';
import { people } from './people.ts';

/** The schema of the first release, one file for each file in `tables/`. */
export const baseline = (context: MigrationContext): Migration => {
  const names = sqlNames(context);
  const statements = [ledger, authorization, people, activity, oauth].flatMap((statementsOf) => statementsOf(names));
  return { up: (db) => runStatements(db, context.dialect, statements) };
};
