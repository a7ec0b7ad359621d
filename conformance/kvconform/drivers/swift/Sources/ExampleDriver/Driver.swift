// The driver of the example: the one class that connects an implementation to the kit. Write yours after this file.

import KvConformKit

final class Driver: Implementation {
    let info = Info(
        name: "example-swift",
        version: "1.0",
        capabilities: Capabilities(
            kinds: ["resolve", "quantize", "cache", "container", "iterate"],
            layers: ["plain", "chunked", "rotating", "quantized", "recurrent", "composite"],
            features: [
                "container", "free-pass", "resolver", "layer-queries", "model-list", "accesses", "accounting", "copy",
                "convert", "save-load", "state", "head-counts", "prepare", "logits-prefill", "model-state",
                "processors", "samplers", "penalty", "sampler-first", "prompt-array", "both-refused", "eager",
                "count", "prefill-time",
            ]))

    func refuses(_ error: any Error) -> Bool { error is InvalidInput }

    // MARK: resolve, quantize

    func groupSize(requested: Int, keyDim: Int, valueDim: Int) throws -> Int? {
        try resolveGroupSize(requested, keyDim: keyDim, valueDim: valueDim)
    }
    func headDims(of cache: Cache) -> (key: Int, value: Int)? { cache.headDims }
    func isQuantizable(_ cache: Cache) -> Bool { ExampleDriver.isQuantizable(cache) }
    func isCompatible(_ cache: Cache) throws -> Bool { try ExampleDriver.isCompatible(cache) }

    func quantize(_ tensor: Tensor, bits: Int, groupSize: Int) throws -> Packed {
        let (rows, dim) = (tensor.shape[0], tensor.shape[1])
        if tensor.dtype == .uint32 { throw Refused("a tensor of uint32 cannot be quantized") }
        try check(length: dim, bits: bits, groupSize: groupSize)
        let values = decode(tensor.bytes, tensor.dtype)
        let stored = try (0..<rows).map { row in
            let values = Array(values[row * dim..<(row + 1) * dim])
            return try quantizeRow(values, bits: bits, groupSize: groupSize, dtype: tensor.dtype)
        }
        return packed(stored, leading: [rows], dim: dim, bits: bits, groupSize: groupSize, dtype: tensor.dtype)
    }

    // MARK: caches

    func makeCache(_ layer: Layer, children: [Cache]) throws -> Cache {
        switch layer.kind {
        case .plain: PlainCache()
        case .chunked: ChunkedCache(chunkSize: layer.chunkSize)
        case .rotating: try RotatingCache(maxSize: layer.maxSize, keep: layer.keep)
        case .quantized: try QuantizedCache(bits: layer.bits, groupSize: layer.groupSize)
        case .recurrent: RecurrentCache(slots: layer.slots)
        case .composite: CompositeCache(children)
        }
    }

    func append(_ rows: PatternRows, to cache: Cache) throws -> Int {
        let shape = RowShape(heads: rows.heads, keyDim: rows.keyDim, valueDim: rows.valueDim, dtype: rows.dtype)
        return try cache.append(WrittenBlock(rows), shape)
    }

    func trim(_ cache: Cache, rows: Int) -> Int { cache.trim(rows) }

    func dropFront(of cache: Cache) throws {
        guard let chunked = cache as? ChunkedCache else {
            throw Refused("only a chunked cache can drop its front. KC-3")
        }
        chunked.dropFront()
    }

    func replaceState(of cache: Cache, by arrays: [[Float]]) throws {
        guard let recurrent = cache as? RecurrentCache else { throw Refused("only a recurrent cache has a state") }
        recurrent.arrays = arrays
    }

    func convert(_ cache: Cache, bits: Int, groupSize: Int) throws -> Cache {
        if !isQuantizable(cache) { throw Refused("this cache is not quantizable; convert a plain one. QP-1") }
        return try cache.toQuantized(bits: bits, groupSize: groupSize)
    }

    func copy(_ cache: Cache) -> Cache { cache.copy() }

    func saveAndLoad(_ cache: Cache) throws -> Exported<Cache> {
        Exported(cache: try savedAndLoaded(cache), rows: cache.rows)
    }
    func stateRoundTrip(_ cache: Cache) throws -> Exported<Cache> {
        Exported(cache: try ExampleDriver.cache(from: try state(of: cache)), rows: cache.rows)
    }

    // MARK: looks

    func look(at cache: Cache, observing observe: Observe) throws -> Look<Cache> {
        var look = Look<Cache>(kind: cache.kind.rawValue)
        look.offset = cache.offset
        look.rows = cache.rows
        switch cache {
        case let composite as CompositeCache: look.children = composite.children
        case let recurrent as RecurrentCache:
            if !recurrent.empty { look.state = recurrent.arrays.map { Int($0.first ?? 0) } }
        case let rows as RowCache: try add(rows, to: &look, observe)
        default: break
        }
        if observe.accounting {
            look.nbytes = cache.nbytes
            look.size = cache.rows
            look.empty = cache.empty
            look.trimmable = cache.trimmable
        }
        return look
    }

    private func add(_ cache: RowCache, to look: inout Look<Cache>, _ observe: Observe) throws {
        if let quantized = cache as? QuantizedCache {
            look.groupSize = quantized.groupSize
            look.bits = quantized.bits
        } else if cache is ChunkedCache {
            look.startPosition = cache.state.startPosition
        }
        guard let shape = cache.state.shape else { return }
        look.keyDim = shape.keyDim
        look.valueDim = shape.valueDim
        if observe.content && !cache.empty {
            look.keys = try content(of: cache, role: 0, shape)
            look.values = try content(of: cache, role: 1, shape)
        }
    }

    private func content(of cache: RowCache, role: Int, _ shape: RowShape) throws -> Content {
        let rows = try cache.fetched.side(role, heads: shape.heads)
        let (leading, dim) = ([1, shape.heads, cache.rowCount], shape.dim(role))
        guard let quantized = cache as? QuantizedCache else {
            return .plain(Tensor(dtype: shape.dtype, shape: leading + [dim], bytes: rows.flatMap(\.data)))
        }
        let (bits, groupSize) = (quantized.bits, quantized.groupSize)
        return .packed(packed(rows, leading: leading, dim: dim, bits: bits, groupSize: groupSize, dtype: shape.dtype))
    }

    private func packed(
        _ rows: [StoredRow], leading: [Int], dim: Int, bits: Int, groupSize: Int, dtype: DType
    ) -> Packed {
        let groups = leading + [dim / groupSize]
        return Packed(
            packed: Tensor(dtype: .uint32, shape: leading + [dim * bits / 32], bytes: rows.flatMap(\.data)),
            scales: Tensor(dtype: dtype, shape: groups, bytes: rows.flatMap(\.scales)),
            biases: Tensor(dtype: dtype, shape: groups, bytes: rows.flatMap(\.biases)))
    }

    // MARK: the pass

    func freePass(_ list: CacheList<Cache>, bits: Int?, groupSize: Int, start: Int) throws -> FreePass<Cache> {
        FreePass(returned: try maybeQuantize(&list.layers, bits: bits, groupSize: groupSize, start: start))
    }
    func makeContainer(over list: CacheList<Cache>, built: Built) -> CacheContainer {
        CacheContainer(list.layers, bits: built.bits)
    }
    func makeContainer(asking model: Model, built: Built) -> CacheContainer {
        CacheContainer(model.newCache().layers, bits: built.bits)
    }
    func layers(of container: CacheContainer) -> [Cache] { container.layers }
    func runPass(_ container: CacheContainer, bits: Int?, groupSize: Int, start: Int) throws {
        try container.maybeQuantize(bits: bits, groupSize: groupSize, start: start)
    }
    func accesses() -> Int { Cache.looks }

    // MARK: the iterator

    func makeIterator(_ request: Request<Cache, CacheContainer>) throws -> TokenIterator {
        var options = TokenIterator.Options()
        options.list = request.list
        options.container = request.container
        options.parameters = LoggedParameters(request)
        options.processor = request.processor
        options.sampler = request.sampler
        options.onContainer = request.works(on:)
        switch request.form {
        case .general: return try TokenIterator(prompt: request.prompt, model: request.model, options: options)
        case .promptArray:
            return try TokenIterator(promptArray: request.prompt, model: request.model, options: options) { _ in
                request.deprecated()
            }
        case .samplerFirst:
            return try TokenIterator(
                prompt: request.prompt, model: request.model, sampler: request.sampler ?? ArgmaxSampler(),
                prefillStep: request.parameters.prefillStep, maxTokens: request.parameters.maxTokens, options: options)
        }
    }
    func next(_ iterator: TokenIterator) throws -> Int? { try iterator.next() }
    func container(of iterator: TokenIterator) -> CacheContainer { iterator.container }
    func count(of iterator: TokenIterator) -> Int? { iterator.count }
    func prefillTime(of iterator: TokenIterator) -> Double? { iterator.prefillTime }
}

/// Parameters whose own sampler and processor are logged by the kit.
private final class LoggedParameters: GenerateParameters {
    private let request: Request<Cache, CacheContainer>

    init(_ request: Request<Cache, CacheContainer>) {
        self.request = request
        super.init(request.parameters)
    }

    override func sampler() -> any Sampler { request.logged(super.sampler()) }
    override func processor() -> (any Processor)? { super.processor().map(request.logged) }
}
