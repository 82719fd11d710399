// Legate reads files of its package, such as those of the console, so Next.js must not bundle it.
export default { serverExternalPackages: ['legate'] };
