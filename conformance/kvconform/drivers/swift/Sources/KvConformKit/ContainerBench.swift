// `container` scenarios: layers behind one or more holders, steps, and what every holder sees after each.

final class ContainerBench<I: Implementation> {
    private let runner: Runner<I>
    private let implementation: I
    private let registry: Registry<I>
    private let layers: [Layer]
    private let steps: [Step]
    private let counting: Bool
    /// The caller's own list; nil when the model was asked for one.
    private let caller: CacheList<I.Cache>?
    private var holding: Holding
    private var twin: Holding?
    private var requests = 0

    /// A container, or in the form `free` the list that the pass works on.
    private enum Holding {
        case container(I.Container)
        case list(CacheList<I.Cache>)
    }

    init(_ runner: Runner<I>, _ fields: inout Fields) throws {
        self.runner = runner
        implementation = runner.implementation
        let observe = try Observe(fields.find("observe"))
        counting = observe.accesses && runner.info.capabilities.features.contains("accesses")
        registry = Registry(runner, observe: observe)
        layers = try Layer.all(try fields.neededList("layers"))
        let free = try fields.choice("form", ["container", "free"]) == "free"
        let fromModel = try fields.choice("given", ["list", "model"]) == "model" && !free
        let built = try Built(fields.find("built"))
        let hasTwin = try fields.flag("twin")
        steps = try fields.list("steps").map(Step.init)
        try fields.done()

        let list = try layers.map(runner.build)
        _ = try registry.meet(all: list)
        let first = CacheList(list)
        let second = CacheList(list)
        caller = fromModel ? nil : first
        if free {
            holding = .list(first)
            twin = hasTwin ? .list(second) : nil
            return
        }
        if fromModel {
            let model = ScriptedModel(
                runner.access, slots: layers, built: list, plan: "window", script: try Script(nil))
            holding = .container(try implementation.makeContainer(asking: model, built: built))
            requests = model.requests
        } else {
            holding = .container(try implementation.makeContainer(over: first, built: built))
        }
        if hasTwin { twin = .container(try implementation.makeContainer(over: second, built: built)) }
    }

    func run() throws -> JSON {
        var records = [try record([])]
        for step in steps { records.append(try record(try attempt(step))) }
        return ["kind": "container", "list_requests": .int(requests), "steps": .array(records)]
    }

    private func list(_ holding: Holding) throws -> [I.Cache] {
        switch holding {
        case .container(let container): try implementation.layers(of: container)
        case .list(let list): list.layers
        }
    }

    /// In the order in which new objects are numbered.
    private func record(_ outcome: [(name: String, value: JSON)]) throws -> JSON {
        let working = try registry.meet(all: try list(holding))
        var holders: [(name: String, value: JSON)] = [("container", working), ("alias", working)]
        if let caller { holders.append(("caller", try registry.meet(all: caller.layers))) }
        if let twin { holders.append(("twin", try registry.meet(all: try list(twin)))) }
        return .object(outcome + [("holders", .object(holders)), ("objects", try registry.views())])
    }

    private func attempt(_ step: Step) throws -> [(name: String, value: JSON)] {
        do { return try perform(step) } catch { return [("error", try runner.record(error))] }
    }

    private func perform(_ step: Step) throws -> [(name: String, value: JSON)] {
        switch step {
        case .append(let rows, let salt, let named, let throughCaller):
            if throughCaller && caller == nil {
                throw Unsupported("there is no caller's list here: the model was asked for one")
            }
            let held = throughCaller ? caller?.layers ?? [] : try list(holding)
            for place in try places(named) {
                _ = try runner.access.write(layers[place], to: held[place], rows: rows, salt: salt)
            }
        case .trim(let rows, let named):
            let held = try list(holding)
            return [("trimmed", .ints(try places(named).map { try implementation.trim(held[$0], rows: rows) }))]
        case .dropFront:
            for cache in try list(holding) where try runner.access.look(cache).kind == "chunked" {
                try implementation.dropFront(of: cache)
            }
        case .pass(let bits, let groupSize, let start):
            return try runPass(bits: bits, groupSize: groupSize, start: start)
        }
        return []
    }

    private func runPass(bits: Int?, groupSize: Int, start: Int) throws -> [(name: String, value: JSON)] {
        let before = counting ? try implementation.accesses() : 0
        var outcome: [(name: String, value: JSON)] = []
        do {
            switch holding {
            case .container(let container):
                try implementation.runPass(container, bits: bits, groupSize: groupSize, start: start)
            case .list(let list):
                let answer = try implementation.freePass(list, bits: bits, groupSize: groupSize, start: start)
                if let new = answer.list { holding = .list(new) }
                if let returned = answer.returned { outcome.append(("returned", .bool(returned))) }
            }
        } catch {
            outcome.append(("error", try runner.record(error)))
        }
        if counting { outcome.append(("accesses", .int(try implementation.accesses() - before))) }
        return outcome
    }

    private func places(_ named: [Int]?) throws -> [Int] {
        let places = named ?? Array(layers.indices)
        for place in places where !layers.indices.contains(place) {
            throw Refused("a step names layer \(place), there are \(layers.count)")
        }
        return places
    }
}
