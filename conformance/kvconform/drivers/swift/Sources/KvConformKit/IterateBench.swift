// `iterate` scenarios: turns of a token iterator over the scripted model, and their whole trace.

final class IterateBench<I: Implementation> {
    private let runner: Runner<I>
    private let implementation: I
    private let registry: Registry<I>
    private let model: ScriptedModel<I.Cache>
    private let turns: [Turn]
    /// The caller's own list; nil when the model is asked.
    private let caller: CacheList<I.Cache>?
    /// The container that the caller has.
    private var kept: I.Container?
    private var passedList: CacheList<I.Cache>?
    private var passedContainer: I.Container?
    /// The container that the current turn's iterator works on, as far as it is known.
    private var watched: I.Container?
    private var trace = Trace()

    init(_ runner: Runner<I>, _ fields: inout Fields) throws {
        self.runner = runner
        implementation = runner.implementation
        registry = Registry(runner, observe: try Observe(fields.find("observe")))
        let layers = try Layer.all(try fields.neededList("layers"))
        let script = try Script(fields.find("model"))
        let given = try fields.choice("given", ["list", "model", "container", "both"])
        let built = try Built(fields.find("built"))
        turns = try fields.neededList("turns", 1...4).map(Turn.init)
        try fields.done()
        let list = try layers.map(runner.build)
        let plan = prefillPlan(of: runner.info.dialect)
        model = ScriptedModel(runner.access, slots: layers, built: list, plan: plan, script: script)
        _ = try registry.meet(all: list)
        let own = CacheList(list)
        caller = given == "model" ? nil : own
        if given == "list" || given == "both" { passedList = own }
        if given == "container" || given == "both" {
            kept = try implementation.makeContainer(over: own, built: built)
            passedContainer = kept
        }
    }

    func run() throws -> JSON { ["kind": "iterate", "turns": .array(try turns.map(play))] }

    private func play(_ turn: Turn) throws -> JSON {
        trace = Trace()
        model.trace = trace
        model.lastSeen = []
        var outcome: [(name: String, value: JSON)] = []
        var made: I.Iterator?
        var prefill: Double?
        do {
            let iterator = try build(turn)
            made = iterator
            prefill = implementation.prefillTime(of: iterator)
            for _ in 0..<turn.nexts { try ask(iterator) }
        } catch {
            outcome.append(("error", try runner.record(error)))
        }
        if let made { outcome.append(("count", .optional(implementation.count(of: made)))) }
        if let made, let prefill {
            let after = implementation.prefillTime(of: made) ?? prefill
            outcome.append(("prefill_times", .array([.double(prefill), .double(after)])))
        }
        outcome.append(("trace", .array(trace.events)))
        outcome.append(("holders", .object(try holders(made))))
        outcome.append(("objects", try registry.views()))
        return .object(outcome)
    }

    private func ask(_ iterator: I.Iterator) throws {
        trace.log("next")
        if let token = try implementation.next(iterator) {
            trace.log("token", token: token)
        } else {
            trace.log("end")
        }
    }

    private func build(_ turn: Turn) throws -> I.Iterator {
        if turn.callerList {
            passedList = caller ?? model.answered
            passedContainer = nil
        }
        watched = passedContainer
        let iterator = try implementation.makeIterator(
            Request(
                form: .init(rawValue: turn.form) ?? .general, prompt: prompt(of: turn), model: model, list: passedList,
                container: passedContainer, parameters: turn.parameters, boosted: turn.boosted,
                sampler: turn.sampler, trace: trace,
                watch: { [unowned self] in watchedSignatures() },
                setWatched: { [unowned self] in watched = $0 }))
        if passedContainer == nil { kept = try implementation.container(of: iterator) }
        passedList = nil
        passedContainer = kept
        return iterator
    }

    private func prompt(of turn: Turn) -> [Int] {
        (0..<turn.promptLength).map { Int(chainAll(turn.promptSeed, $0)) % model.vocab }
    }

    /// What a processor sees; the list of the last call where the iterator's container is not known.
    private func watchedSignatures() -> [String] {
        let list = watched.flatMap { try? implementation.layers(of: $0) } ?? model.lastSeen
        return (try? runner.access.signatures(list)) ?? []
    }

    /// What every holder lists, in the order in which new objects are numbered.
    private func holders(_ made: I.Iterator?) throws -> [(name: String, value: JSON)] {
        var holders: [(name: String, value: JSON)] = []
        if let kept {
            let working = try made.map { try implementation.container(of: $0) } ?? kept
            holders.append(("container", try registry.meet(all: try implementation.layers(of: working))))
            holders.append(("alias", try registry.meet(all: try implementation.layers(of: kept))))
        }
        if let caller { holders.append(("caller", try registry.meet(all: caller.layers))) }
        return holders
    }
}
