// Serves /.well-known/*: the metadata by which clients find the authorization server.
export { DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT } from '../../../legate';
