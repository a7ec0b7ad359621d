// The cache classes: plain, chunked, rotating, quantized, recurrent, composite (KC, QC).

import KvConformKit

typealias Kind = Layer.Kind
typealias HeadDims = (key: Int, value: Int)

private let growthStep = 256  // KC-1: rows by which a buffer grows

private func grown(_ capacity: Int, to needed: Int) -> Int {
    max(capacity, (needed + growthStep - 1) / growthStep * growthStep)
}

/// One layer's cache. The defaults are those of a cache without rows. What a pass may ask goes through the four
/// counted properties: a container that is disarmed must look at no layer (CT-11).
class Cache {
    nonisolated(unsafe) static var looks = 0
    private let ownKind: Kind

    init(_ kind: Kind) { ownKind = kind }

    final var kind: Kind { counted(ownKind) }
    final var offset: Int? { counted(ownOffset) }
    final var headDims: HeadDims? { counted(ownHeadDims) }  // HD-1
    final var holdsEveryRow: Bool { counted(ownHoldsEveryRow) }  // QP-2

    var ownOffset: Int? { nil }
    var ownHeadDims: HeadDims? { nil }
    var ownHoldsEveryRow: Bool { true }
    var rows: Int? { nil }
    var empty: Bool { true }
    var trimmable: Bool { false }
    var nbytes: Int { 0 }

    func append(_ block: Block, _ shape: RowShape) throws -> Int { throw InvalidInput("this cache takes no rows") }
    func trim(_ count: Int) -> Int { 0 }
    func copy() -> Cache { fatalError("every cache class says how it is copied") }
    func toQuantized(bits: Int, groupSize: Int) throws -> QuantizedCache {
        throw InvalidInput("this cache cannot be quantized; convert plain ones only. QP-1")
    }

    private func counted<Answer>(_ answer: Answer) -> Answer {
        Cache.looks += 1
        return answer
    }
}

/// A cache whose reader gets the rows between a start position and the offset, in order (KC-1).
class RowCache: Cache {
    struct State {
        var offset = 0
        /// The position of the first row held.
        var startPosition = 0
        var capacity = 0
        /// Of the rows written; nil before the first write.
        var shape: RowShape?
        /// Rows from the start position on; those beyond the offset are invisible.
        var stored = Rows()
    }

    var state = State()

    var rowCount: Int { state.offset - state.startPosition }
    var fetched: Rows { state.stored.part(0, rowCount) }
    var rowBytes: Int {
        guard let shape = state.shape else { return 0 }
        return shape.heads * (shape.keyDim + shape.valueDim) * shape.dtype.itemBytes
    }

    override final var ownOffset: Int? { state.offset }
    override var ownHeadDims: HeadDims? { state.shape.map { ($0.keyDim, $0.valueDim) } }
    override final var ownHoldsEveryRow: Bool { rowCount == state.offset }
    override final var rows: Int? { rowCount }
    override final var empty: Bool { rowCount == 0 }
    override var trimmable: Bool { true }
    override final var nbytes: Int { state.capacity * rowBytes }

    override func append(_ block: Block, _ shape: RowShape) throws -> Int {
        try check(shape)
        state.shape = shape
        state.stored = state.stored.part(0, rowCount) + Rows(stored(block))
        state.offset += block.count
        allocate()
        return rowCount
    }

    /// Moves only the offset; a negative number trims nothing (QC-4).
    override func trim(_ count: Int) -> Int {
        let trimmed = max(0, min(rowCount, count))
        state.offset -= trimmed
        return trimmed
    }

    /// The block as this cache stores it.
    func stored(_ block: Block) -> Block { block }

    /// Make room for the rows held, in growth steps; never gives room back (QC-3).
    func allocate() { state.capacity = grown(state.capacity, to: rowCount) }

    final func check(_ shape: RowShape) throws {
        if let known = state.shape, known != shape {
            throw InvalidInput("rows of another shape are in the cache; write the same shape")
        }
    }
}

class PlainCache: RowCache {
    convenience init() { self.init(.plain) }

    override func copy() -> Cache {
        let twin = PlainCache()
        twin.state = state
        return twin
    }

    override func toQuantized(bits: Int, groupSize: Int) throws -> QuantizedCache {
        try QuantizedCache(rowsOf: self, bits: bits, groupSize: groupSize)
    }
}

/// Can drop its front: then holds the newest `chunkSize` rows, at absolute positions (KC-3).
final class ChunkedCache: PlainCache {
    let chunkSize: Int

    init(chunkSize: Int) {
        self.chunkSize = chunkSize
        super.init(.chunked)
    }

    func dropFront() {
        let dropped = rowCount - chunkSize
        if dropped <= 0 { return }
        state.stored = state.stored.part(dropped, rowCount)
        state.startPosition += dropped
        state.capacity = 0  // the rows kept move to an array of their own
        allocate()
    }

    override func copy() -> Cache {
        let twin = ChunkedCache(chunkSize: chunkSize)
        twin.state = state
        return twin
    }
}

final class QuantizedCache: RowCache {
    private(set) var bits: Int
    /// The requested one until the first write brings the head dims.
    private(set) var groupSize: Int

    init(bits: Int, groupSize: Int) throws {
        try ExampleDriver.check(bits: bits)
        self.bits = bits
        self.groupSize = groupSize
        super.init(.quantized)
    }

    /// The rows and the offset of another cache, which stays as it is (MQ-5, MQ-6).
    convenience init(rowsOf source: RowCache, bits: Int, groupSize: Int) throws {
        try self.init(bits: bits, groupSize: groupSize)
        guard let shape = source.state.shape else { return }
        if source.rowCount != source.state.offset {
            throw InvalidInput("the cache holds fewer rows than were written and cannot be quantized; keep it. QP-2")
        }
        try resolve(shape)
        state.stored = source.fetched.mapBlocks(stored)
        state.offset = source.state.offset
        allocate()
    }

    override var ownHeadDims: HeadDims? { nil }  // GS-10: more than one key and one value array

    override var rowBytes: Int {  // QC-8
        guard let shape = state.shape else { return 0 }
        let dims = shape.keyDim + shape.valueDim
        return shape.heads * (dims * bits / 8 + 2 * shape.dtype.itemBytes * dims / groupSize)
    }

    override func append(_ block: Block, _ shape: RowShape) throws -> Int {
        if state.shape == nil { try resolve(shape) }
        return try super.append(block, shape)
    }

    override func stored(_ block: Block) -> Block {
        QuantizedBlock(block, bits: bits, groupSize: groupSize, dtype: state.shape?.dtype ?? .float32)
    }

    override func copy() -> Cache { twin() }

    override func toQuantized(bits: Int, groupSize: Int) throws -> QuantizedCache {
        if !planted(.quantizeTwice) { return try super.toQuantized(bits: bits, groupSize: groupSize) }  // MQ-12
        let result = twin()
        (result.bits, result.groupSize) = (bits, groupSize)
        if let shape = state.shape { try result.resolve(shape) }
        result.state.stored = state.stored.mapBlocks { block in
            result.stored((block as? QuantizedBlock)?.source ?? block)
        }
        return result
    }

    private func twin() -> QuantizedCache {
        guard let twin = try? QuantizedCache(bits: bits, groupSize: groupSize) else {
            fatalError("its bits were checked")
        }
        twin.state = state
        return twin
    }

    private func resolve(_ shape: RowShape) throws {
        guard let size = try resolveGroupSize(groupSize, keyDim: shape.keyDim, valueDim: shape.valueDim) else {
            throw InvalidInput("no supported group size divides head dims \(shape.keyDim) and \(shape.valueDim). GS-2")
        }
        groupSize = size
        state.shape = shape
    }
}

/// Keeps its first `keep` rows and the newest, `maxSize` in all, in an order of its own (KC-2).
final class RotatingCache: RowCache {
    let maxSize: Int
    let keep: Int
    /// Index of the row that the next overwrite hits.
    var oldest: Int

    init(maxSize: Int, keep: Int) throws {
        if keep < 0 || keep >= maxSize { throw InvalidInput("keep \(keep) is not below the window of \(maxSize) rows") }
        self.maxSize = maxSize
        self.keep = keep
        oldest = keep
        super.init(.rotating)
    }

    override var rowCount: Int { state.stored.count }
    override var fetched: Rows { state.stored }
    override var trimmable: Bool { state.offset < maxSize }

    override func append(_ block: Block, _ shape: RowShape) throws -> Int {
        try check(shape)
        state.shape = shape
        if block.count == 1 { writeOne(Rows(block)) } else { writeMany(Rows(block)) }
        state.offset += block.count
        allocate()
        return rowCount
    }

    /// Only while no row has been overwritten.
    override func trim(_ count: Int) -> Int {
        if !trimmable { return 0 }
        let trimmed = super.trim(count)
        state.stored = state.stored.part(0, state.offset)
        return trimmed
    }

    override func allocate() { state.capacity = max(rowCount, min(maxSize, grown(state.capacity, to: rowCount))) }

    override func copy() -> Cache {
        guard let twin = try? RotatingCache(maxSize: maxSize, keep: keep) else { fatalError("its window was checked") }
        twin.state = state
        twin.oldest = oldest
        return twin
    }

    override func toQuantized(bits: Int, groupSize: Int) throws -> QuantizedCache {
        if !planted(.convertRotating) { return try super.toQuantized(bits: bits, groupSize: groupSize) }
        return try QuantizedCache(rowsOf: self, bits: bits, groupSize: groupSize)
    }

    /// At most `maxSize - 1` old rows stay before the new ones.
    private func writeMany(_ rows: Rows) {
        state.stored = newest(maxSize - 1) + rows
        oldest = keep
    }

    private func writeOne(_ row: Rows) {
        if rowCount > maxSize { (state.stored, oldest) = (newest(maxSize), keep) }
        if rowCount < maxSize {
            state.stored = state.stored + row
            return
        }
        state.stored = state.stored.part(0, oldest) + row + state.stored.part(oldest + 1, maxSize)
        oldest = oldest + 1 < maxSize ? oldest + 1 : keep
    }

    /// In time order, cut to `limit` rows: the first `keep` and the newest of the others.
    private func newest(_ limit: Int) -> Rows {
        let all = state.stored
        let turned = all.part(0, keep) + all.part(oldest, all.count) + all.part(keep, oldest)
        let ordered = oldest == keep ? all : turned
        let surplus = ordered.count - limit
        return surplus <= 0 ? ordered : ordered.part(0, keep) + ordered.part(keep + surplus, ordered.count)
    }
}

/// Whole state arrays, replaced at every write; no offset, no rows, no trim (KC-4).
final class RecurrentCache: Cache {
    /// An empty one: never filled.
    var arrays: [[Float]]

    init(slots: Int) {
        arrays = [[Float]](repeating: [], count: slots)
        super.init(.recurrent)
    }

    override var empty: Bool { arrays.allSatisfy(\.isEmpty) }
    override var nbytes: Int { arrays.reduce(0) { $0 + 4 * $1.count } }

    override func copy() -> Cache {
        let twin = RecurrentCache(slots: arrays.count)
        twin.arrays = arrays
        return twin
    }
}

/// Caches in one list entry (KC-5).
final class CompositeCache: Cache {
    let children: [Cache]

    init(_ children: [Cache]) {
        self.children = children
        super.init(.composite)
    }

    override var empty: Bool { children.allSatisfy(\.empty) }
    override var trimmable: Bool { children.allSatisfy(\.trimmable) }
    override var nbytes: Int { children.reduce(0) { $0 + $1.nbytes } }

    override func trim(_ count: Int) -> Int {
        if !trimmable { return 0 }
        return children.map { $0.trim(count) }.last ?? 0
    }

    override func copy() -> Cache { CompositeCache(children.map { $0.copy() }) }
}
