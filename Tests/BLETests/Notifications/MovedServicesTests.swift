import BLESimulation
import BLETestSupport
import Testing

@testable import BLE

/// Services that change while a subscription is started in them.
@Suite(.hangLimit) struct MovedServicesTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }

    init() async throws { bench = try await Bench() }

    /// The level has another handle, 52.
    private static let moved = GATTDatabase(services: [
        GATTService(
            uuid: Bench.battery, handle: 50,
            characteristics: [
                GATTCharacteristic(uuid: Bench.level.key.characteristic, handle: 52, properties: [.read, .notify])
            ])
    ])

    private var ended: CentralBackendEvent {
        .notificationsEnded(AttributeID(peripheral: strap.id, handle: 2), Bench.error(.busy))
    }

    /// The services change while the first of the held starts is in progress, which fails.
    private func move(_ error: BLEError = Bench.error(.disconnected)) async {
        await bench.backend.set(Self.moved)
        await bench.backend.emit(.servicesChanged(strap.id))
        await bench.backend.release(.startNotifications, error)
    }

    /// Errors of an attribute that is gone.
    private static let absences = [Bench.error(.disconnected), Bench.error(.peripheralNotFound)]

    @Test(arguments: absences)
    func `a stream whose characteristic moves while it is restored continues where it is by then`(
        _ error: BLEError
    ) async throws {
        var values = try await strap.notifications(Bench.level).events.makeAsyncIterator()
        await bench.backend.script(.startNotifications, .hold)
        await bench.backend.emit(ended)
        await bench.backend.asked(.startNotifications, 2)
        await move(error)
        await bench.backend.asked(.startNotifications, 3)
        await bench.backend.notify([5], from: 52)
        guard case .gap = try await values.next() else { return #expect(Bool(false), "a gap was expected") }
        guard case .value(5) = try await values.next() else { return #expect(Bool(false), "5 was expected") }
        #expect(await bench.backend.calls(.startNotifications).last == .startNotifications(52))
    }

    @Test func `a stream whose characteristic moves away while it is restored ends because of that`() async throws {
        var values = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.backend.script(.startNotifications, .hold)
        await bench.backend.emit(ended)
        await bench.backend.asked(.startNotifications, 2)
        await bench.backend.set(GATTDatabase(services: []))
        await bench.backend.emit(.servicesChanged(strap.id))
        await bench.backend.release(.startNotifications, Bench.error(.disconnected))
        await expectError(.serviceNotFound) { try await values.next() }
        #expect(await strap.connectionState == .connected)
    }

    @Test func `a stream ends after four failures in services that change all the time`() async throws {
        var values = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.backend.script(.startNotifications, .hold, .hold, .hold, .hold)
        await bench.backend.emit(ended)
        for count in 2...5 {
            await bench.backend.asked(.startNotifications, count)
            await bench.backend.emit(.servicesChanged(strap.id))
            await bench.backend.release(.startNotifications, Bench.error(.disconnected))
        }
        await expectError(.disconnected) { try await values.next() }
        await bench.settle()
        #expect(await bench.backend.count(.startNotifications) == 5)
        #expect(await strap.connectionState == .connected)
    }

    @Test func `a failure in services that have not changed ends the stream at once`() async throws {
        var values = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.backend.script(.startNotifications, .fail(Bench.error(.disconnected)))
        await bench.backend.emit(ended)
        await expectError(.disconnected) { try await values.next() }
        await bench.settle()
        #expect(await bench.backend.count(.startNotifications) == 2)
    }
}
