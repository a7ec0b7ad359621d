// Every vector that is about what the driver declares, asked through the kit.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Driver } from '../driver.mjs';
import { answer, Vector } from '../kit/index.mjs';

const driver = new Driver();
const vectors = Vector.all(process.env.KVCONFORM_VECTORS).filter((vector) => vector.appliesTo(driver.info));

test('there are vectors', () => assert.notEqual(vectors.length, 0));

for (const vector of vectors) {
  test(`${vector.id}: ${vector.comment}`, () => {
    assert.equal(vector.difference(answer(driver, vector.scenario)), null);
  });
}
