// What a driver fills in, and what the kit hands to it. Names of fields inside scenarios are those of the contract.

export type DType = 'float32' | 'float16' | 'bfloat16';
export type TensorType = DType | 'uint32';
export type Kind = 'plain' | 'chunked' | 'rotating' | 'quantized' | 'recurrent' | 'composite';

/** A clear refusal of bad input, before anything changed. */
export class Refused extends Error {}
/** There is no such concept here; the message says which. */
export class Unsupported extends Error {}
/** The scripted model's own error: let it through. */
export class PrepareFailed extends Error {}

/** An array as the wire carries it: little-endian bytes, row by row. Throws `Refused` unless they fill the shape. */
export class Tensor {
  constructor(dtype: TensorType, shape: readonly number[], bytes: Uint8Array);
  readonly dtype: TensorType;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
  toJSON(): { dtype: TensorType; shape: readonly number[]; data: string };
}

/** Quantized rows: `packed` uint32 words, `scales` and `biases` in the stored dtype. */
export interface Packed {
  packed: Tensor;
  scales: Tensor;
  biases: Tensor;
}

/** Who answers, which dialect it follows, what it can do. The names are those of docs/scenarios.md and docs/wire.md. */
export interface Info {
  name: string;
  version: string;
  language: string;
  backend: string;
  /** A named dialect, or an object with all parameters. */
  dialect: string | Record<string, unknown>;
  /** What is left out means everything; features that are left out mean none. */
  capabilities: {
    kinds?: readonly string[];
    bits?: readonly number[];
    group_sizes?: readonly number[];
    dtypes?: readonly DType[];
    layers?: readonly Kind[];
    features?: readonly string[];
  };
}

/** A layer of a scenario, with all defaults filled in; which fields there are depends on the kind. */
export interface Layer {
  kind: Kind;
  chunk_size: number;
  max_size: number;
  keep: number;
  group_size: number;
  bits: number;
  slots: number;
  heads: number;
  key_dim: number;
  value_dim: number;
  dtype: DType;
}

/** What a look shows beyond the cheap fields. */
export interface Observe {
  readonly content: boolean;
  readonly accounting: boolean;
  readonly accesses: boolean;
}

/** Rows of pattern content that one append writes. Values are computed when they are asked for. */
export interface Rows {
  readonly count: number;
  readonly heads: number;
  readonly keyDim: number;
  readonly valueDim: number;
  readonly dtype: DType;
  /** The values of one row: keys (role 0) or values (role 1) of one head. Exact in all three dtypes. */
  values(role: 0 | 1, head: number, index: number): Float32Array;
  /** All keys or all values at once, `[1, heads, count, dim]`. */
  array(role: 0 | 1): Float32Array;
}

/** What a look at one cache shows; leave away what it does not have. */
export interface LookFields<Cache> {
  /** One of `Kind`; any other text for a cache that the suite does not know. */
  kind: string;
  offset?: number | null;
  /** Rows a reader gets. */
  rows?: number | null;
  keyDim?: number | null;
  valueDim?: number | null;
  /** Quantized only, with the next. */
  groupSize?: number;
  bits?: number;
  /** Chunked only. */
  startPosition?: number;
  /** Composite only. */
  children?: readonly Cache[];
  /** Recurrent only: the first value of each slot; left away when never filled. */
  state?: readonly number[];
  /** When content is observed: exactly the rows that a reader gets, `[1, heads, rows, ...]`; left away when there are none. */
  keys?: Tensor | Packed;
  values?: Tensor | Packed;
  /** When accounting is observed, with the next three. */
  nbytes?: number | null;
  size?: number | null;
  empty?: boolean;
  trimmable?: boolean;
}

export class Look<Cache> {
  constructor(kind: string, fields?: Omit<LookFields<Cache>, 'kind'>);
  kind: string;
  /** Sets one field; when the question throws, the error is kept and the field stays away. */
  ask(field: Exclude<keyof LookFields<Cache>, 'kind'>, question: () => unknown): this;
}
export interface Look<Cache> extends LookFields<Cache> {}

export interface Parameters {
  maxTokens: number | null;
  bits: number | null;
  groupSize: number;
  start: number;
  prefillStep: number;
  repetitionPenalty: number | null;
  repetitionContextSize: number;
}

/** The logits of one call, `[1, rows, vocab]`; a row is computed when it is looked at. */
export interface Logits {
  readonly rows: number;
  readonly vocab: number;
  row(index: number): Float32Array;
}

export interface ModelResult {
  logits: Logits;
  state: number | null;
}

/** The model of `iterate` scenarios. Your iterator calls it as it would call a real one. */
export interface ScriptedModel<Cache> {
  /** One forward pass over tokens `[1, length]` that also writes to the caches; null: there are none. */
  call(tokens: readonly (readonly number[])[], cache: readonly Cache[] | null, state: number | null): ModelResult;
  /** The prefill: the remaining tokens, or the result of its last call. */
  prepare(
    tokens: readonly number[],
    cache: readonly Cache[],
    window: number,
  ): { tokens: readonly number[] } | { result: ModelResult };
  /** A new cache list. */
  newCache(): Cache[];
}

export interface Sampler {
  sample(logits: Float32Array): number;
}

export interface Processor {
  prompt(tokens: readonly number[]): void;
  process(logits: Float32Array): Float32Array;
  didSample(token: number): void;
}

/** What a turn hands to the iterator that you build: exactly these things; use what the form takes. */
export interface Request<Cache, Container> {
  readonly form: 'general' | 'sampler-first' | 'prompt-array';
  readonly prompt: readonly number[];
  readonly model: ScriptedModel<Cache>;
  /** The caller's list; null: none was given. */
  readonly list: Cache[] | null;
  /** null: none was given. */
  readonly container: Container | null;
  readonly parameters: Parameters;
  /** The explicit one; null: that of the parameters. */
  readonly processor: Processor | null;
  /** The explicit one; null: that of the parameters (never null in sampler-first). */
  readonly sampler: Sampler | null;
  /** Put your parameters' own sampler and processor through this, so that what they do is logged. */
  logged(own: Sampler): Sampler;
  logged(own: Processor | null): Processor | null;
  /** Call this when a deprecated form warned. */
  deprecated(): void;
  /** Call this, before the prefill, with the container that your iterator made for itself: processors log what it lists. */
  worksOn(container: Container): void;
}

/** What an export of a cache gives: the new cache, and the rows stored in an exported array (null without rows). */
export interface Exported<Cache> {
  cache: Cache;
  rows: number | null;
}

/**
 * The class to extend. Override what you have; what you leave is answered as "unsupported", so declare only what
 * you override. Caches are objects of yours; two are the same when they are identical (`===`).
 */
export class Implementation<Cache, Container, Iterator> {
  readonly info: Info;
  /** Whether an error is a clear refusal of bad input; every other one is an internal error. */
  refuses(error: unknown): boolean;

  /** The group size used for these head dims, or null. */
  groupSize(requested: number, keyDim: number, valueDim: number): number | null;
  headDims(cache: Cache): readonly [number, number] | null;
  isQuantizable(cache: Cache): boolean;
  isCompatible(cache: Cache): boolean;
  /** The rows of a `[rows, dim]` tensor, quantized along the last axis. */
  quantize(tensor: Tensor, bits: number, groupSize: number): Packed;

  /** An empty cache of the layer's kind and parameters; a composite gets its children. */
  make(layer: Layer, children: Cache[]): Cache;
  /** Write the rows behind the offset; how many rows a reader gets back from that very write. */
  append(cache: Cache, rows: Rows): number;
  /** Take rows off the end; how many were taken, 0 where it cannot be trimmed. */
  trim(cache: Cache, rows: number): number;
  /** Chunked: drop the rows beyond the chunk size at the front. Others refuse. */
  dropFront(cache: Cache): void;
  /** Recurrent: replace all slots by new arrays of shape `[1, 1, 4]`. */
  replaceState(cache: Cache, arrays: Float32Array[]): void;
  /** What the cache shows. Also asked, without content and accounting, wherever the kit has to know kind and offset. */
  look(cache: Cache, observe: Observe): LookFields<Cache>;
  /** Convert one cache directly. */
  convert(cache: Cache, bits: number, groupSize: number): Cache;
  copy(cache: Cache): Cache;
  /** Write to this path, or to files that begin with it, and load from there. */
  saveAndLoad(cache: Cache, path: string): Exported<Cache>;
  stateRoundTrip(cache: Cache): Exported<Cache>;

  /** One pass without memory, on the list; `list` is the new one where the design returns one. */
  freePass(
    list: Cache[],
    bits: number | null,
    groupSize: number,
    start: number,
  ): { returned: boolean | null; list?: Cache[] };
  /** A container over the caller's list. A design without containers uses the list itself. */
  makeContainer(list: Cache[], built: { bits: number | null; groupSize: number }): Container;
  /** A container over the list that the model makes: ask it with `model.newCache()`. */
  makeContainerFromModel(model: ScriptedModel<Cache>, built: { bits: number | null; groupSize: number }): Container;
  layers(container: Container): readonly Cache[];
  containerPass(container: Container, bits: number | null, groupSize: number, start: number): void;
  /** How many looks at layers were counted so far; only differences matter. */
  accesses(): number;

  makeIterator(request: Request<Cache, Container>): Iterator;
  /** The next token; null at the end. */
  next(iterator: Iterator): number | null;
  containerOf(iterator: Iterator): Container;
  count(iterator: Iterator): number | null;
  /** Seconds. */
  prefillTime(iterator: Iterator): number | null;
}

/** The observation of a scenario, a refusal included: for tests that read vectors. */
export function answer<C, T, I>(implementation: Implementation<C, T, I>, scenario: unknown): any;
/** A scenario, the answer that is expected, and for whom it holds. */
export class Vector {
  constructor(data: unknown);
  readonly id: string;
  readonly comment: string;
  readonly scenario: any;
  readonly expected: any;
  /** Every vector in a folder such as goldens/vectors. */
  static all(folder: string): Vector[];
  /** Whether it holds for the dialect, and asks for nothing that is not declared. */
  appliesTo(info: Info): boolean;
  /** Where an answer is not the expected one; null when it is. Texts, times and spare capacity are not compared. */
  difference(answer: unknown): string | null;
}
/** Answers requests on stdin until `shutdown`. `console` goes to stderr. */
export function serve<C, T, I>(implementation: Implementation<C, T, I>): Promise<void>;
export class Server {
  constructor(implementation: Implementation<any, any, any>);
  readonly done: boolean;
  answer(line: string): string;
}
