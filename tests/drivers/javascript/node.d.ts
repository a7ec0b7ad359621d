// As much of node's types as the JavaScript driver uses: the real ones are a package of their own.
declare module 'node:fs' { export const writeSync: any, readdirSync: any, readFileSync: any, writeFileSync: any, mkdtempSync: any, rmSync: any; }
declare module 'node:os' { export const tmpdir: any; }
declare module 'node:path' { export const join: any; }
declare module 'node:console' { export const Console: any; }
interface Buffer extends Uint8Array { toString(encoding?: string): string; subarray(start: number, end?: number): Buffer; }
declare const Buffer: { from(data: any, encoding?: any, length?: number): Buffer; concat(parts: readonly Uint8Array[]): Buffer };
declare const process: any;
declare const performance: { now(): number };
declare var console: any;
