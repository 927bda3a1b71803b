import BLE
import BLESimulation
import BLETesting
import Testing

@testable import CoffeeMachine

/// A machine that is served, and two phones, in virtual time.
@Suite(.hangLimit, .tracesFailures) struct CoffeeMachineTests {
    private func withMachine(
        _ body:
            (
                _ clock: ManualClock, _ machine: CoffeeMachine, _ first: Coffee, _ second: Coffee
            ) async throws -> Void
    ) async throws {
        let world = try await SimulatedWorld()
        let machine = try CoffeeMachine()
        let host = try await world.makeHost()
        let other = try await world.makeCentral()
        let serving = Task { try await serve(machine, on: host) }
        // Its advertisements need time.
        async let heard = world.central.first(Coffee.self)
        async let heardToo = other.first(Coffee.self)
        await world.clock.run(for: .seconds(5))
        try await body(world.clock, machine, try await heard, try await heardToo)
        serving.cancel()
        _ = await serving.result
        await other.shutDown()
        await host.shutDown()
    }

    @Test func `one brews, the other sees it, and is refused until it is done`() async throws {
        try await withMachine { clock, machine, first, second in
            var states = try await second.states().makeAsyncIterator()
            try await first.start(milliliters: 100)
            let heating = try await states.next()
            #expect(heating == .heating)
            let error = await expectError(.procedureFailed) { try await second.start(milliliters: 40) }
            #expect(error?.result(CoffeeResult.self) == .busy)
            await clock.run(for: .seconds(60))
            let (brewing, done) = (try await states.next(), try await states.next())
            #expect(brewing == .brewing && done == .done)
            try await second.start(milliliters: 40)
        }
    }

    @Test func `either stops it`() async throws {
        try await withMachine { clock, machine, first, second in
            var states = try await first.states().makeAsyncIterator()
            try await first.start(milliliters: 60_000)
            let heating = try await states.next()
            #expect(heating == .heating)
            try await second.stop()
            await clock.run(for: .seconds(5))
            let end = try await states.next()
            #expect(end == .idle)
            let error = await expectError(.procedureFailed) { try await second.stop() }
            #expect(error?.result(CoffeeResult.self) == .notBrewing)
        }
    }

    @Test func `the setpoint is below 96`() async throws {
        try await withMachine { _, machine, first, second in
            try await first.setSetpoint(celsius: 95.9)
            let error = await expectError(.attributeError) { try await second.setSetpoint(celsius: 96) }
            #expect(error?.attError == .tooHot)
            let setpoint = try await second.setpointCelsius()
            #expect(setpoint == 95.9)
        }
    }

    @Test func `a stranger who never subscribes starts nothing, and reads the state`() async throws {
        try await withMachine { _, machine, first, _ in
            let point = Characteristic<[UInt8]>(.coffeeControlPoint, service: .coffee)
            let error = await expectError(.attributeError) {
                try await first.service.peripheral.write([CoffeeOpcode.start, 100, 0], to: point)
            }
            #expect(error?.attError == .improperlyConfigured)
            let state = try await first.state()
            #expect(state == .idle)
        }
    }
}
