// Rows that are computed when somebody looks at them. A cache holds `Rows`: ranges of blocks. A block is what one
// append wrote and never changes, so caches can share it without seeing each other's writes (MQ-6, QC-9).

import KvConformKit

/// What all rows of a cache have in common.
struct RowShape: Equatable {
    var heads: Int
    var keyDim: Int
    var valueDim: Int
    var dtype: DType

    func dim(_ role: Int) -> Int { role == 0 ? keyDim : valueDim }
}

/// `count` rows as one append wrote them; a row is asked for keys (role 0) or values (role 1) of one head.
class Block {
    let count: Int
    init(count: Int) { self.count = count }
    func row(role: Int, head: Int, index: Int) throws -> StoredRow { fatalError("a block says what its rows are") }
}

final class WrittenBlock: Block {
    private let rows: PatternRows

    init(_ rows: PatternRows) {
        self.rows = rows
        super.init(count: rows.count)
    }

    override func row(role: Int, head: Int, index: Int) -> StoredRow {
        StoredRow(data: encode(rows.values(role: role, head: head, index: index), rows.dtype))
    }
}

/// The rows of another block, each quantized by itself (QC-2, AQ-2).
final class QuantizedBlock: Block {
    private struct Place: Hashable {
        let role: Int
        let head: Int
        let index: Int
    }

    let source: Block
    private let bits: Int
    private let groupSize: Int
    private let dtype: DType
    private var known: [Place: StoredRow] = [:]  // rows are looked at many times

    init(_ source: Block, bits: Int, groupSize: Int, dtype: DType) {
        self.source = source
        self.bits = bits
        self.groupSize = groupSize
        self.dtype = dtype
        super.init(count: source.count)
    }

    override func row(role: Int, head: Int, index: Int) throws -> StoredRow {
        let place = Place(role: role, head: head, index: index)
        if let row = known[place] { return row }
        let values = decode(try source.row(role: role, head: head, index: index).data, dtype)
        let row = try quantizeRow(values, bits: bits, groupSize: groupSize, dtype: dtype)
        known[place] = row
        return row
    }
}

/// The rows of a saved cache, head after head.
final class LoadedBlock: Block {
    private let sides: [[StoredRow]]

    init(count: Int, heads: Int, sides: [[StoredRow]]) throws {
        if sides.contains(where: { $0.count != heads * count }) {
            throw InvalidInput("the saved cache is damaged; save it again")
        }
        self.sides = sides
        super.init(count: count)
    }

    override func row(role: Int, head: Int, index: Int) -> StoredRow { sides[role][head * count + index] }
}

/// An immutable sequence of rows, each the row of some block.
struct Rows {
    private struct Segment {
        var block: Block
        var range: Range<Int>
    }

    private var segments: [Segment] = []
    private(set) var count = 0

    init() {}

    init(_ block: Block) {
        if block.count > 0 { append(block, 0..<block.count) }
    }

    /// Rows of a range; what lies outside is left out.
    func part(_ start: Int, _ stop: Int) -> Rows {
        if start <= 0 && stop >= count { return self }
        var result = Rows()
        var at = 0
        for segment in segments {
            let (low, high) = (max(start - at, 0), min(stop - at, segment.range.count))
            if low < high {
                result.append(segment.block, segment.range.lowerBound + low..<segment.range.lowerBound + high)
            }
            at += segment.range.count
        }
        return result
    }

    static func + (left: Rows, right: Rows) -> Rows {
        var result = left
        result.segments += right.segments
        result.count += right.count
        return result
    }

    /// The same rows of other blocks; `change` is called once a block.
    func mapBlocks(_ change: (Block) -> Block) -> Rows {
        var result = self
        var changed: [ObjectIdentifier: Block] = [:]
        for index in segments.indices {
            let block = segments[index].block
            let new = changed[ObjectIdentifier(block)] ?? change(block)
            changed[ObjectIdentifier(block)] = new
            result.segments[index].block = new
        }
        return result
    }

    /// All rows of one side, head after head: the order of an array `[1, heads, rows, ...]`.
    func side(_ role: Int, heads: Int) throws -> [StoredRow] {
        var rows: [StoredRow] = []
        rows.reserveCapacity(heads * count)
        for head in 0..<heads {
            for segment in segments {
                for index in segment.range { rows.append(try segment.block.row(role: role, head: head, index: index)) }
            }
        }
        return rows
    }

    private mutating func append(_ block: Block, _ range: Range<Int>) {
        segments.append(Segment(block: block, range: range))
        count += range.count
    }
}
