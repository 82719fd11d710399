import { Definitions, type Tool } from '../definitions.ts';
import { ServerUnavailable } from '../peer.ts';
import type { GatewayServer } from '../servers-file.ts';
import type { Pins } from './pins.ts';

/** The tools of one server, as its connections list them, and which of them are approved. */
export class ApprovedTools {
  readonly definitions = new Definitions();
  readonly #server: GatewayServer;
  readonly #pins: Pins;

  constructor(server: GatewayServer, pins: Pins) {
    this.#server = server;
    this.#pins = pins;
  }

  /** Records what a connection has listed. */
  listed(key: string, tools: readonly Tool[]): Promise<void> {
    return this.#pins.listed(this.#server, tools, this.definitions.set(key, tools));
  }

  /** Returns whether the server has a tool, as far as its list is known, and its definition is approved. */
  allows(tool: string, key: string | undefined): boolean {
    return this.definitions.allows(tool, key) && this.#isApproved(tool, key);
  }

  /** Returns whether a connection has listed a tool whose definition is not approved. */
  withholds(key: string): boolean {
    return this.definitions.listedOn(key).some((tool) => !this.#isApproved(tool, key));
  }

  /** Returns the approved tools of a list. */
  permitted(key: string, tools: readonly Tool[]): Tool[] {
    return tools.filter(({ name }) => this.definitions.hashesOf(name, key) && this.#isApproved(name, key));
  }

  /**
   * Throws ServerUnavailable if a tool is no longer approved: after the decision, its connection may have been opened
   * or may have listed other definitions. Returns the hash of the definition.
   */
  assertStillApproved(tool: string, key: string): string | undefined {
    if (!this.allows(tool, key)) throw new ServerUnavailable('the definition of the tool changed after the decision');
    return this.definitions.hashesOf(tool, key)?.whole;
  }

  #isApproved(tool: string, key: string | undefined): boolean {
    return this.#pins.allows(this.#server, tool, this.definitions.hashesOf(tool, key)?.pin);
  }
}
