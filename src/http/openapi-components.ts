import { z } from 'zod';

export type Json = Record<string, unknown>;

export type Io = 'input' | 'output';

type Translated = Json & { readonly $defs?: Record<string, Json> };

/**
 * Schemas with a `meta({ id })` become components. If one differs between requests and answers, its name in requests
 * ends with `Input`.
 */
export class Components {
  readonly #found: Record<Io, Map<string, Json>> = { input: new Map(), output: new Map() };
  readonly #differing = new Set<string>();
  /** Most schemas are asked for several times: by the constructor, and by each route that has them. */
  readonly #translated: Record<Io, Map<z.ZodType, Translated>> = { input: new Map(), output: new Map() };

  constructor(schemas: readonly (readonly [schema: z.ZodType, io: Io])[]) {
    for (const [schema, io] of schemas)
      for (const [id, definition] of Object.entries(this.#translate(schema, io).$defs ?? {}))
        this.#found[io].set(id, definition);
    const { input, output } = this.#found;
    for (const [id, definition] of input)
      if (output.has(id) && JSON.stringify(output.get(id)) !== JSON.stringify(definition)) this.#differing.add(id);
    // A schema that refers to a different one is different too.
    for (let before = -1; before !== this.#differing.size; ) {
      before = this.#differing.size;
      for (const [id, definition] of input)
        if (
          output.has(id) &&
          [...this.#differing].some((other) => JSON.stringify(definition).includes(`"#/$defs/${other}"`))
        )
          this.#differing.add(id);
    }
  }

  /** Returns all components by name. */
  all(): Record<string, Json> {
    const both = (['output', 'input'] as const).flatMap((io) =>
      [...this.#found[io]].map(([id, definition]) => [this.#name(id, io), this.#withRefs(definition, io)] as const),
    );
    return Object.fromEntries(both.sort(([a], [b]) => (a < b ? -1 : 1))) as Record<string, Json>;
  }

  /** Returns a schema with references to components. */
  of(schema: z.ZodType, io: Io): Json {
    const { $schema: _, $defs: __, ...rest } = this.#translate(schema, io);
    return this.#withRefs(rest, io) as Json;
  }

  #translate(schema: z.ZodType, io: Io): Translated {
    let found = this.#translated[io].get(schema);
    if (!found) this.#translated[io].set(schema, (found = toJsonSchema(schema, io)));
    return found;
  }

  #name(id: string, io: Io): string {
    return io === 'input' && this.#differing.has(id) ? `${id}Input` : id;
  }

  #withRefs(value: unknown, io: Io): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#withRefs(item, io));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) =>
        key === '$ref' && typeof item === 'string'
          ? [key, `#/components/schemas/${this.#name(item.replace('#/$defs/', ''), io)}`]
          : [key, this.#withRefs(item, io)],
      ),
    );
  }
}

const toJsonSchema = (schema: z.ZodType, io: Io): Translated =>
  z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      // Answers may gain fields, so only strict schemas are closed.
      if (def.type === 'object' && (def as { catchall?: unknown }).catchall === undefined)
        delete jsonSchema.additionalProperties;
      delete jsonSchema.id;
      // In a URL, a number is declared as text with a pattern. Clients send the number.
      if (jsonSchema.type === 'integer') delete jsonSchema.pattern;
    },
  }) as Json;
