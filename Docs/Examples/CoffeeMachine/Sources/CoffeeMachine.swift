import BLE

/// A coffee machine. There is one, whichever phone uses it.
actor CoffeeMachine {
    nonisolated let setpoint: ServedValue<Double>
    nonisolated let state: ServedValue<CoffeeState>
    private let (orders, order) = AsyncStream.makeStream(of: Int.self)
    private var isBusy = false
    private var isStopped = false
    private var celsius = 20.0

    init() throws(BLEError) {
        setpoint = try ServedValue(.coffeeSetpoint, 92)
        state = try ServedValue(.coffeeState, .idle)
    }

    nonisolated var definition: PeripheralDefinition {
        let setpoint = setpoint.definition([.read, .write, .notify]) { celsius, _ in
            guard celsius < 96 else { throw ATTError.tooHot }
        }
        let point = CharacteristicDefinition.controlPoint(
            .coffeeControlPoint, responseOpcode: CoffeeOpcode.response, failure: CoffeeResult.failed
        ) { request in
            switch request.opcode {
            case CoffeeOpcode.start:
                guard let milliliters: UInt16 = try? request.parameter(), milliliters > 0 else {
                    return .result(.invalidParameter)
                }
                return await self.start(milliliters: Int(milliliters))
            case CoffeeOpcode.stop: return await self.stop()
            default: return .result(.notSupported)
            }
        }
        return PeripheralDefinition(
            advertisement: Advertisement(
                localName: "Coffee", rssi: -50, serviceUUIDs: [.coffee], flags: .generalDiscoverable),
            services: [ServiceDefinition(.coffee, characteristics: [setpoint, state.definition(), point])])
    }

    /// Accepts an order, which ``run(clock:)`` brews: a phone may leave meanwhile, and any of them may stop it.
    private func start(milliliters: Int) -> ControlPointAnswer<CoffeeResult> {
        guard !isBusy else { return .result(.busy) }
        (isBusy, isStopped) = (true, false)
        order.yield(milliliters)
        return .success()
    }

    private func stop() -> ControlPointAnswer<CoffeeResult> {
        guard isBusy else { return .result(.notBrewing) }
        isStopped = true
        return .success()
    }

    /// Brews what phones order, until the task is cancelled.
    func run(clock: any Clock<Duration>) async throws {
        for await milliliters in orders { try await brew(milliliters, clock) }
        // The stream ends without an error when the task is cancelled.
        try Task.checkCancellation()
    }

    private func brew(_ milliliters: Int, _ clock: any Clock<Duration>) async throws {
        defer { isBusy = false }
        do {
            try state.set(.heating)
            while celsius < setpoint.value, !isStopped {
                try await clock.sleep(for: .seconds(1))
                celsius += 4
            }
            if !isStopped { try state.set(.brewing) }
            var poured = 0
            while poured < milliliters, !isStopped {
                try await clock.sleep(for: .seconds(1))
                poured += 5
            }
            try state.set(isStopped ? .idle : .done)
        } catch {
            try state.set(.idle)
            throw error
        }
    }
}

/// Serves the machine until the task is cancelled.
func serve(_ machine: CoffeeMachine, on host: PeripheralHost) async throws {
    try await withThrowingTaskGroup { group in
        group.addTask { try await host.serve(machine.definition) }
        group.addTask { try await machine.run(clock: host.configuration.clock) }
        // Either ends both.
        defer { group.cancelAll() }
        try await group.next()
    }
}
