// Serves /api/legate/*: sign-in and account pages, and the authorization server.
export { DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT } from '../../../../legate';
