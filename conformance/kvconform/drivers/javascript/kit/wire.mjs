// @ts-check
// The wire: requests on stdin, one JSON object a line, answers on stdout (docs/wire.md).

import { Console } from 'node:console';
import { writeSync } from 'node:fs';
import { BadRequest, Refused, textOf, Unsupported } from './errors.mjs';
import { runScenario } from './run.mjs';

/** @typedef {import('./index.mjs').Implementation<any, any, any>} Impl */

const PROTOCOL = 1;
const NOT_JSON = -32700;
const BAD_REQUEST = -32600;
const NO_METHOD = -32601;
const BAD_PARAMS = -32602;
const REFUSED = -32001;
const UNSUPPORTED = -32002;
const INTERNAL = -32603;
const STDOUT = 1;
const NEWLINE = 10;

/**
 * Answers requests until `shutdown` or the end of stdin. What is printed meanwhile goes to stderr.
 * @param {Impl} impl
 */
export async function serve(impl) {
  globalThis.console = new Console(process.stderr, process.stderr);
  const server = new Server(impl);
  for await (const line of lines(process.stdin)) {
    writeAll(Buffer.from(`${server.answer(line)}\n`));
    if (server.done) break;
  }
  process.stdin.destroy();
}

/** One connection. */
export class Server {
  /** @param {Impl} impl */
  constructor(impl) {
    this.impl = impl;
    this.initialized = false;
    this.done = false;
  }

  /**
   * The answer line to a request line, whatever that is.
   * @param {string} line
   * @returns {string}
   */
  answer(line) {
    /** @type {any} */
    let id = null;
    try {
      const request = parse(line);
      id = Number.isInteger(request.id) ? request.id : null;
      return JSON.stringify({ jsonrpc: '2.0', id, result: this.handle(request) });
    } catch (error) {
      return JSON.stringify({ jsonrpc: '2.0', id, error: this.wireError(error) });
    }
  }

  /** @param {any} request */
  handle({ id, method, params }) {
    if (!Number.isInteger(id)) throw new BadRequest(BAD_REQUEST, 'id: is no integer');
    if (method === 'initialize') return this.initialize(params);
    if (method === 'shutdown') {
      this.done = true;
      return {};
    }
    if (method !== 'run') throw new BadRequest(NO_METHOD, `method ${method} is not known; use run`);
    if (!this.initialized) throw new BadRequest(BAD_REQUEST, 'run before initialize; initialize first');
    if (params?.scenario === undefined) throw new BadRequest(BAD_PARAMS, 'params.scenario: is missing');
    return runScenario(this.impl, params.scenario);
  }

  /** @param {any} params */
  initialize(params) {
    const { min = PROTOCOL, max = PROTOCOL } = params?.protocol ?? {};
    if (min > PROTOCOL || max < PROTOCOL) {
      throw new BadRequest(BAD_PARAMS, `protocol ${min} to ${max} asked for, ${PROTOCOL} spoken; update one side`);
    }
    this.initialized = true;
    const { name, version, language, backend, dialect, capabilities } = this.impl.info;
    return { protocol: PROTOCOL, implementation: { name, version, language, backend }, dialect, capabilities };
  }

  /** @param {unknown} error */
  wireError(error) {
    const message = textOf(error);
    if (error instanceof BadRequest) return { code: error.code, message, data: { kind: 'protocol' } };
    if (error instanceof Unsupported) return { code: UNSUPPORTED, message, data: { kind: 'unsupported' } };
    if (error instanceof Refused || this.impl.refuses(error)) {
      return { code: REFUSED, message, data: { kind: 'refused' } };
    }
    const detail = error instanceof Error ? (error.stack ?? '') : '';
    return { code: INTERNAL, message, data: { kind: 'internal', detail } };
  }
}

/** @param {string} line */
function parse(line) {
  let request;
  try {
    request = JSON.parse(line);
  } catch {
    throw new BadRequest(NOT_JSON, `not JSON: ${line.slice(0, 200)}`);
  }
  if (request?.jsonrpc !== '2.0' || typeof request.method !== 'string') {
    throw new BadRequest(BAD_REQUEST, `not a request: ${line.slice(0, 200)}`);
  }
  return request;
}

/**
 * The lines of a stream, however it is cut into chunks.
 * @param {AsyncIterable<Buffer>} stream
 * @returns {AsyncGenerator<string>}
 */
async function* lines(stream) {
  /** @type {Buffer[]} */
  let begun = [];
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...begun, chunk.subarray(start, end)]).toString('utf8');
      begun = [];
      start = end + 1;
    }
    if (start < chunk.length) begun.push(chunk.subarray(start));
  }
}

/** @param {Buffer} data */
function writeAll(data) {
  let written = 0;
  while (written < data.length) {
    try {
      written += writeSync(STDOUT, data, written);
    } catch (error) {
      if (/** @type {any} */ (error).code !== 'EAGAIN') throw error; // the pipe is full: its reader is at work
    }
  }
}
