// @ts-check
// Faults planted on purpose: KVCONFORM_PLANT=NAME makes the example wrong in one decision, to see that the suite
// notices. An implementation of your own needs nothing like this.

const chosen = process.env.KVCONFORM_PLANT;

/** @param {'tie-high' | 'convert-rotating' | 'quantize-twice' | 'limit-off-by-one'} fault */
export function planted(fault) {
  return chosen === fault;
}
