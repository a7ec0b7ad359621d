// Vectors read without the kit: the group sizes of one dialect.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { resolveGroupSize } from '../example/group_size.mjs'; // your own

const folder = `${process.env.KVCONFORM_VECTORS}/gs`;
const vectors = readdirSync(folder).map((name) => JSON.parse(readFileSync(`${folder}/${name}`, 'utf8')));

for (const { id, dialects, scenario: asks, expected } of vectors) {
  if (!dialects.includes('proposal') || expected.kind !== 'resolve' || asks.key_dim === null) continue;
  test(id, () => {
    assert.equal(resolveGroupSize(asks.requested, asks.key_dim, asks.value_dim), expected.group_size ?? null);
  });
}
