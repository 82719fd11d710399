// The baseline of the gateway: the minimum that a forwarder on node:http does. It reads a body, sends it to UPSTREAM
// and returns the response.
import { Agent, createServer, request } from 'node:http';

const upstream = process.env.UPSTREAM;
const agent = new Agent({ keepAlive: true });
const server = createServer({ keepAliveTimeout: 65_000 }, (req, res) => {
  if (req.url === '/health/ready') return res.end();
  const chunks = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => {
    const body = Buffer.concat(chunks);
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const forwarded = request(upstream, { method: 'POST', agent, headers }, (answer) => {
      res.writeHead(answer.statusCode, { 'content-type': answer.headers['content-type'] });
      answer.pipe(res);
    });
    forwarded.end(body);
  });
});
server.listen(Number(process.env.PORT), '127.0.0.1');
process.once('SIGTERM', () => process.exit(0));
