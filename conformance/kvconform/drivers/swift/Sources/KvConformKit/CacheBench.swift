// `cache` scenarios: operations on one cache, and what each cache object shows after each of them.

final class CacheBench<I: Implementation> {
    private let runner: Runner<I>
    private let implementation: I
    private let registry: Registry<I>
    private let layer: Layer
    private let operations: [Operation]
    private var current: I.Cache
    private var slots: [Int: Layer] = [:]

    init(_ runner: Runner<I>, _ fields: inout Fields) throws {
        self.runner = runner
        implementation = runner.implementation
        registry = Registry(runner, observe: try Observe(fields.find("observe")))
        layer = try Layer.all([try fields.need("layer")])[0]
        operations = try fields.list("operations").map(Operation.init)
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

    private func attempt(_ operation: Operation) throws -> JSON {
        do {
            return try record([("result", .optional(try perform(operation)))])
        } catch {
            return try record([("error", try runner.record(error))])
        }
    }

    private func perform(_ operation: Operation) throws -> Int? {
        switch operation {
        case .append(let rows, let salt):
            return try runner.access.write(try slot(), to: current, rows: rows, salt: salt)
        case .trim(let rows): return try implementation.trim(current, rows: rows)
        case .convert(let bits, let groupSize):
            try makeCurrent(implementation.convert(current, bits: bits, groupSize: groupSize))
        case .copy: try makeCurrent(implementation.copy(current))
        case .saveAndLoad: return try exported(implementation.saveAndLoad(current))
        case .state: return try exported(implementation.stateRoundTrip(current))
        case .dropFront: try implementation.dropFront(of: current)
        case .select(let number):
            if number >= registry.objects.count { throw Refused("there is no cache \(number)") }
            current = registry.objects[number]
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
