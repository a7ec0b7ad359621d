// @ts-check

/** Bad input, noticed before anything changed. */
export class InvalidArgument extends Error {}
