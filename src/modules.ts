import { agents } from './agents/index.ts';
import { permissions } from './permissions/index.ts';
import type { Module } from './platform.ts';

/** THE LIST. Router, OpenAPI, error and route docs, the permission matrix of the tests: all follow from it. */
export const modules: readonly Module[] = [permissions, agents];
