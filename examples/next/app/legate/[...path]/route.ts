import { legate } from '../../../legate.ts';

// The folder is the mount: app/legate/[...path]/route.ts serves /legate/*.
const handler = (request: Request): Promise<Response> => legate.fetch(request);

export { handler as DELETE, handler as GET, handler as HEAD, handler as PATCH, handler as POST, handler as PUT };
