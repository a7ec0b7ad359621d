// Runs scenarios on an implementation: from a scenario to its observation.

public final class Runner<I: Implementation> {
    public let info: Info
    let implementation: I
    let access: CacheAccess<I.Cache>

    public init(_ implementation: I) {
        self.implementation = implementation
        info = implementation.info
        access = CacheAccess(implementation)
    }

    /// The observation of a scenario. Throws `Unsupported`, `BadRequest`, what `refuses` calls a refusal, or anything.
    public func run(_ scenario: JSON) throws -> JSON {
        var fields = try Fields(scenario, "scenario")
        if try fields.int("version", 1) != 1 { throw fields.wrong("version", "this kit knows version 1") }
        let kinds = ["resolve", "quantize", "cache", "container", "iterate", "generate"]
        let kind = try fields.neededChoice("kind", kinds)
        if !info.capabilities.kinds.contains(kind) { throw Unsupported("this driver answers no \(kind) scenarios") }
        switch kind {
        case "resolve": return try resolve(&fields)
        case "quantize": return try quantize(&fields)
        case "cache": return try CacheBench(self, &fields).run()
        case "container": return try ContainerBench(self, &fields).run()
        case "iterate": return try IterateBench(self, &fields).run()
        default: throw Unsupported("the kit answers no \(kind) scenarios")
        }
    }

    // MARK: resolve, quantize

    private func resolve(_ fields: inout Fields) throws -> JSON {
        let requested = try fields.neededInt("requested")
        let (keyDim, valueDim) = (try fields.maybe("key_dim"), try fields.maybe("value_dim"))
        let layer = try fields.find("layer").map { try Layer.all([$0])[0] }
        try fields.done()
        if let layer {
            if keyDim != nil || valueDim != nil {
                throw Refused("head dims and a layer are both given; give one of them")
            }
            return try resolve(requested, layer)
        }
        guard let keyDim, let valueDim else { throw Refused("one head dim is missing; give both, or a layer") }
        let size = try implementation.groupSize(requested: requested, keyDim: keyDim, valueDim: valueDim)
        return ["kind": "resolve", "group_size": .optional(size)]
    }

    private func resolve(_ requested: Int, _ layer: Layer) throws -> JSON {
        let cache = try build(layer)
        let dims = try implementation.headDims(of: cache)
        let quantizable = try implementation.isQuantizable(cache)
        var size: Int?
        if let dims, quantizable {
            size = try implementation.groupSize(requested: requested, keyDim: dims.key, valueDim: dims.value)
        }
        return [
            "kind": "resolve",
            "group_size": .optional(size),
            "head_dims": dims.map { .ints([$0.key, $0.value]) } ?? .null,
            "quantizable": .bool(quantizable),
            "compatible": .bool(try quantizable && implementation.isCompatible(cache)),  // HD-3
        ]
    }

    private func quantize(_ fields: inout Fields) throws -> JSON {
        let tensor = try Tensor(try fields.need("tensor"))
        let (bits, groupSize) = (try fields.neededInt("bits"), try fields.neededInt("group_size"))
        try fields.done()
        if tensor.shape.count != 2 { throw Refused("the tensor is not 2-d; give [rows, dim]") }
        let packed = try implementation.quantize(tensor, bits: bits, groupSize: groupSize)
        return [
            "kind": "quantize", "packed": packed.packed.json, "scales": packed.scales.json,
            "biases": packed.biases.json,
        ]
    }

    // MARK: layers

    /// The layer's cache, filled as the scenario says.
    func build(_ layer: Layer) throws -> I.Cache {
        let cache = try implementation.makeCache(layer, children: layer.children.map(build))
        if layer.kind == .recurrent {
            if layer.filled {
                try access.put(number: Int(chainAll(layer.stream)) % stateModulus, into: cache, of: layer)
            }
            return cache
        }
        if layer.singly {
            for _ in 0..<layer.length { _ = try access.write(layer, to: cache, rows: 1, salt: 0) }
        } else if layer.length > 0 {
            _ = try access.write(layer, to: cache, rows: layer.length, salt: 0)
        }
        if layer.trim > 0 { _ = try implementation.trim(cache, rows: layer.trim) }
        if layer.dropFront { try implementation.dropFront(of: cache) }
        return cache
    }

    /// The record of an error of one step; rethrows what concerns the whole scenario.
    func record(_ error: any Error) throws -> JSON {
        if error is Unsupported { throw error }
        let kind =
            error is PrepareFailed
            ? "model" : implementation.refuses(error) || error is Refused ? "refused" : "internal"
        return ["kind": .string(kind), "message": .string("\(error)")]
    }
}

/// Numbers every cache object that is met, and keeps it so that the number stays its own.
final class Registry<I: Implementation> {
    private(set) var objects: [I.Cache] = []
    private var numbers: [ObjectIdentifier: Int] = [:]
    private let implementation: I
    private let access: CacheAccess<I.Cache>
    private let observe: Observe

    init(_ runner: Runner<I>, observe: Observe) {
        implementation = runner.implementation
        access = runner.access
        self.observe = observe
    }

    func meet(_ cache: I.Cache) throws -> Int {
        let number = numbers[ObjectIdentifier(cache)] ?? objects.count
        if number == objects.count {
            numbers[ObjectIdentifier(cache)] = number
            objects.append(cache)
        }
        for child in try access.look(cache).children { _ = try meet(child) }
        return number
    }

    func meet(all list: [I.Cache]) throws -> JSON { .ints(try list.map(meet)) }

    func views() throws -> JSON {
        var views: [JSON] = []
        var number = 0
        while number < objects.count {  // a look may meet new children
            views.append(try implementation.look(at: objects[number], observing: observe).json(number: meet))
            number += 1
        }
        return .array(views)
    }
}
