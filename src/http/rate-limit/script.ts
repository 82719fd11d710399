import { EXACT_UP_TO } from './outcome.ts';

/**
 * Counts one request atomically, by the clock of the Redis server. The same arithmetic as window.ts. KEYS[1]: the
 * counter, see {@link counterKey}. ARGV: limit, window in ms. Answers: allowed (0 or 1), remaining, wait in ms.
 */
export const SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local key = KEYS[1]

if limit <= ${EXACT_UP_TO} then
  local last = tonumber(redis.call('LINDEX', key, -1) or 0)
  if last > now then now = last end
  local first = tonumber(redis.call('LINDEX', key, 0) or now)
  while first + window <= now and redis.call('LPOP', key) do
    first = tonumber(redis.call('LINDEX', key, 0) or now)
  end
  local used = redis.call('LLEN', key)
  if used >= limit then
    return {0, 0, tonumber(redis.call('LINDEX', key, used - limit)) + window - now}
  end
  redis.call('RPUSH', key, string.format('%.0f', now))
  redis.call('PEXPIRE', key, window)
  return {1, limit - used - 1, first + window - now}
end

local bucket = math.floor(now / window)
local elapsed = now - bucket * window
local held = redis.call('HMGET', key, 'bucket', 'current', 'previous')
local at, current, previous = tonumber(held[1] or bucket), tonumber(held[2] or 0), tonumber(held[3] or 0)
if bucket > at then
  previous = bucket == at + 1 and current or 0
  current = 0
elseif bucket < at then
  bucket = at
  elapsed = 0
end
local free = limit * window - previous * (window - elapsed) - current * window
if free >= window then
  redis.call('HSET', key, 'bucket', string.format('%.0f', bucket), 'current', current + 1, 'previous', previous)
  redis.call('PEXPIRE', key, 2 * window)
  return {1, math.floor(free / window) - 1, window - elapsed}
end
if current < limit then
  return {0, 0, math.ceil(window - (limit - 1 - current) * window / previous) - elapsed}
end
return {0, 0, window - elapsed + math.ceil(window - (limit - 1) * window / current)}
`;

/** The two kinds of counters have different keys, so that a changed limit can switch between them. */
export const counterKey = (key: string, limit: number): string => `${key}:${limit <= EXACT_UP_TO ? 'log' : 'sum'}`;
