// Serves /legate/*: the REST endpoints and the console.
export { DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT } from '../../../legate';
