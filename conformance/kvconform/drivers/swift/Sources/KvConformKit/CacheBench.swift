// `cache` scenarios: operations on one cache, and what each cache object shows after each of them.

final class CacheBench<I: Implementation> {
    private let runner: Runner<I>
    private let implementation: I
    private let registry: Registry<I>
    private let layer: Layer
    private let operations: [JSON]
    private var current: I.Cache
    private var slots: [Int: Layer] = [:]

    init(_ runner: Runner<I>, _ fields: inout Fields) throws {
        self.runner = runner
        implementation = runner.implementation
        registry = Registry(runner, observe: try Observe(fields.find("observe")))
        layer = try Layer.all([try fields.need("layer")])[0]
        operations = try fields.list("operations")
        try fields.done()
        current = try runner.build(layer)
        try keepSlot(current, layer)
    }

    func run() throws -> JSON {
        var records = [try record([])]
        for operation in operations { records.append(try attempt(operation)) }
        return ["kind": "cache", "records": .array(records)]
    }

    private func record(_ outcome: [(name: String, value: JSON)]) throws -> JSON {
        .object(outcome + [("current", .int(try registry.meet(current))), ("objects", try registry.views())])
    }

    private func attempt(_ operation: JSON) throws -> JSON {
        do {
            return try record([("result", .optional(try perform(operation)))])
        } catch {
            return try record([("error", try runner.record(error))])
        }
    }

    private func perform(_ operation: JSON) throws -> Int? {
        var fields = try Fields(operation, "operation")
        let op = try fields.text("op", "")
        let (rows, salt) = (try fields.int("rows", 0), try fields.int("salt", 0))
        let (bits, groupSize) = (try fields.int("bits", 0), try fields.int("group_size", 64))
        let number = try fields.int("cache", 0)
        try fields.done()
        switch op {
        case "append": return try runner.access.write(try slot(), to: current, rows: rows, salt: salt)
        case "trim": return try implementation.trim(current, rows: rows)
        case "convert": try makeCurrent(implementation.convert(current, bits: bits, groupSize: groupSize))
        case "copy": try makeCurrent(implementation.copy(current))
        case "save-load": return try exported(implementation.saveAndLoad(current))
        case "state": return try exported(implementation.stateRoundTrip(current))
        case "drop-front": try implementation.dropFront(of: current)
        case "select":
            if number >= registry.objects.count { throw Refused("there is no cache \(number)") }
            current = registry.objects[number]
        default: throw fields.wrong("op", "is not known")
        }
        return nil
    }

    private func exported(_ made: Exported<I.Cache>) throws -> Int? {
        try makeCurrent(made.cache)
        return made.rows
    }

    private func slot() throws -> Layer { slots[try registry.meet(current)] ?? layer }

    private func makeCurrent(_ cache: I.Cache) throws {
        let slot = try slot()
        current = cache
        try keepSlot(cache, slot)
    }

    private func keepSlot(_ cache: I.Cache, _ slot: Layer) throws {
        let number = try registry.meet(cache)
        if slots[number] == nil { slots[number] = slot }
        for (child, childSlot) in zip(try runner.access.look(cache).children, slot.children) {
            try keepSlot(child, childSlot)
        }
    }
}
