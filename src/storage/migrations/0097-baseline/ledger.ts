import type { SqlNames } from '../migration.ts';

/** Tables of the ledger, and tables derived from it. */
export const ledger = ({ p, int, float, blob, dialect }: SqlNames): readonly string[] => [
  `create table ${p}head (
    id ${int} primary key,
    seq ${int} not null,
    epoch ${int} not null,
    clock ${int} not null,
    writer text not null
  )`,
  `insert into ${p}head (id, seq, epoch, clock, writer) values (1, 0, 1, 0, '')`,
  `create table ${p}stream_events (
    seq ${int} primary key,
    id text not null,
    type text not null,
    timestamp ${int} not null,
    agent_id text,
    user_id text,
    action text,
    resource text,
    result text,
    reason text,
    duration_ms ${float},
    tokens_cost ${float},
    parameters text,
    ip text,
    user_agent text,
    delegation_ids text,
    data text,
    change text,
    decided text
  )`,
  // SQLite finds these rows with `event_columns` alone. PostgreSQL logs only the changed part of an index page, so
  // indexes cost little on writes.
  ...(dialect === 'postgres'
    ? [
        `create index ${p}stream_events_agent on ${p}stream_events (agent_id, seq)`,
        `create index ${p}stream_events_refused on ${p}stream_events (result, seq) where result <> 'allowed'`,
        `create index ${p}stream_events_user on ${p}stream_events (user_id, seq)`,
      ]
    : []),
  `create table ${p}counters (
    key text primary key,
    hour ${int} not null,
    used ${int} not null
  )`,
  `create table ${p}changes (
    seq ${int} primary key,
    id text not null,
    type text not null,
    timestamp ${int} not null,
    agent_id text,
    user_id text,
    actor_id text,
    data text not null,
    change text
  )`,
  `create index ${p}changes_type on ${p}changes (type, seq)`,
  `create index ${p}changes_agent_id on ${p}changes (agent_id, seq)`,
  `create index ${p}changes_user_id on ${p}changes (user_id, seq)`,
  `create index ${p}changes_actor_id on ${p}changes (actor_id, seq)`,
  `create table ${p}change_subjects (
    subject text not null,
    seq ${int} not null,
    constraint ${p}change_subjects_key primary key (subject, seq)
  )`,
  `create table ${p}versions (
    subject text not null,
    seq ${int} not null,
    version ${int} not null,
    timestamp ${int} not null,
    type text,
    actor text not null,
    state text not null,
    constraint ${p}versions_key primary key (subject, seq)
  )`,
  `create table ${p}idempotency_keys (
    scope text not null,
    part integer not null,
    fingerprint text not null,
    kind text not null,
    answer text,
    created_at ${int} not null,
    expires_at ${int} not null,
    constraint ${p}idempotency_keys_pk primary key (scope, part)
  )${dialect === 'sqlite' ? ' without rowid' : ''}`,
  `create index ${p}idempotency_keys_end on ${p}idempotency_keys (expires_at)`,
  `create table ${p}agent_hours (
    agent_id text not null,
    hour ${int} not null,
    user_id text not null,
    calls ${int} not null,
    denied ${int} not null,
    steps ${int} not null default 0,
    constraint ${p}agent_hours_pk primary key (hour, agent_id)
  )`,
  `create index ${p}agent_hours_user on ${p}agent_hours (user_id, hour)`,
  `create table ${p}projections (
    name text primary key,
    upto ${int} not null
  )`,
  // All other followers insert their own row when they first follow the ledger.
  `insert into ${p}projections (name, upto) values ('anomalies', 0), ('anomaly_states', 0), ('search', 0)`,
  `create table ${p}event_segments (
    first ${int} primary key,
    last ${int} not null,
    first_time ${int} not null,
    last_time ${int} not null
  )`,
  `create table ${p}event_columns (
    first ${int} not null,
    part ${int} not null,
    data ${blob} not null,
    constraint ${p}event_columns_pk primary key (first, part)
  )`,
  // Its parts are already compact.
  ...(dialect === 'postgres' ? [`alter table ${p}event_columns alter column data set storage external`] : []),
  `create table ${p}installation_keys (
    id text primary key,
    kind text not null,
    created_at text not null,
    sealed text not null
  )`,
  `create table ${p}instances (
    id text primary key,
    host text not null,
    version text not null,
    started_at bigint not null,
    seen_at bigint not null,
    base_url text
  )`,
  `create table ${p}seal (
    id ${int} primary key,
    log_id text not null,
    origin text not null,
    size ${int} not null,
    signed_size ${int} not null,
    checkpoint text,
    halted text,
    cosigned text,
    cosigned_size ${int} not null default 0,
    asked_at ${int} not null default 0,
    published_size ${int} not null default 0,
    published_at ${int} not null default 0,
    stamped_at ${int} not null default 0
  )`,
  `create table ${p}seal_tiles (
    level ${int} not null,
    tile ${int} not null,
    hashes ${blob} not null,
    salts ${blob},
    primary key (level, tile)
  )`,
  `create table ${p}seal_remains (
    seq ${int} primary key,
    type text not null,
    timestamp ${int} not null,
    digest text not null,
    erased_by ${int}
  )`,
  `create table ${p}seal_logs (
    log_id text primary key,
    origin text not null,
    size ${int} not null,
    checkpoint text,
    ended_at ${int} not null
  )`,
  `create table ${p}seal_checkpoints (
    log_id text not null,
    size ${int} not null,
    note text not null,
    signed_at ${int} not null,
    stamp text,
    primary key (log_id, size)
  )`,
  `create table ${p}seal_log_tiles (
    log_id text not null,
    level ${int} not null,
    tile ${int} not null,
    hashes ${blob} not null,
    primary key (log_id, level, tile)
  )`,
  `create table ${p}seal_witnesses (
    log_id text not null,
    vkey text not null,
    size ${int} not null,
    cosigned_at ${int},
    failure text,
    failed_at ${int},
    primary key (log_id, vkey)
  )`,
  `create table ${p}agent_activity (
    agent_id text primary key,
    last_at ${int} not null,
    hours text not null
  )`,
  `create table ${p}decision_slots (
    user_id text not null,
    slot ${int} not null,
    allowed ${int} not null,
    denied ${int} not null,
    rate_limited ${int} not null,
    durations text not null,
    constraint ${p}decision_slots_pk primary key (user_id, slot)
  )`,
  `create index ${p}decision_slots_time on ${p}decision_slots (slot)`,
  `create table ${p}epochs (
    epoch ${int} primary key
  )`,
  `insert into ${p}epochs (epoch) values (1)`,
];
