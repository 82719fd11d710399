// The raw server: the minimum that a JSON service on node:http does. It reads a POST body, parses it and returns a
// small JSON object; GET returns it immediately.
import { createServer } from 'node:http';

const server = createServer({ keepAliveTimeout: 65_000 }, (req, res) => {
  if (req.url === '/health/ready') {
    res.end();
    return;
  }
  if (req.method === 'GET') {
    const body = JSON.stringify({ allowed: true });
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    res.end(body);
    return;
  }
  const chunks = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => {
    const { resource } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    const body = JSON.stringify({ allowed: true, resource });
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    res.end(body);
  });
});
server.listen(Number(process.env.PORT), '127.0.0.1');
process.once('SIGTERM', () => process.exit(0));
