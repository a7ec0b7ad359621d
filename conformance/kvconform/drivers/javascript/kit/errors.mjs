// @ts-check
// What can go wrong, by what the suite makes of it. Every other error is an internal one.

/** A clear refusal of bad input, before anything changed. */
export class Refused extends Error {
  /** @param {string} message what is wrong with which value, and what to do */
  constructor(message) {
    super(message);
    this.name = 'Refused';
  }
}

/** There is no such concept here; the message says which. */
export class Unsupported extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'Unsupported';
  }
}

/** The scripted model's own error. Let it through. */
export class PrepareFailed extends Error {
  constructor() {
    super('scripted prepare failed');
    this.name = 'PrepareFailed';
  }
}

/** A request that cannot be understood; `code` is that of JSON-RPC. */
export class BadRequest extends Error {
  /**
   * @param {number} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.name = 'BadRequest';
    this.code = code;
  }
}

/**
 * The text of anything that was thrown.
 * @param {unknown} error
 */
export function textOf(error) {
  return error instanceof Error ? error.message : String(error);
}
