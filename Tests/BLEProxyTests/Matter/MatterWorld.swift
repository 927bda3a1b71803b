import BLE
import BLEDefinitions
import BLESimulation
import BLETestSupport
import BLETesting
import Loop

@testable import BLEProxy

/// A Matter server, a proxy and two Matter devices on a simulated radio. The radio advertises in real time; what the
/// proxy waits for is on the clock.
struct MatterWorld: Sendable {
    let radio = SimulatedRadio()
    let devices = [
        MatterDevice("C0:00:00:00:00:01"), MatterDevice("C0:00:00:00:00:02", discriminator: 0xABC),
    ]
    let peripherals: [SimulatedPeripheral]
    let central: Central
    let clock = ManualClock()
    let proxy: MatterProxy
    /// The servers that the proxy has connected to, in order.
    let servers = SharedValue<[RawMatterServer]>([])
    /// What happens from the beginning.
    let events: BoundedStream<MatterProxyEvent>
    private let running: Task<Result<Void, BLEError>, Never>

    /// - Parameters:
    ///   - behaviors: those of the servers that the proxy reaches, one after the other, the last of them for all
    ///     further ones. Nil for one that does not accept a connection.
    ///   - clients: makes the server of other clients.
    init(
        _ behaviors: [RawMatterServer.Behavior?] = [RawMatterServer.Behavior()], connectionLimit: Int = 5,
        clients: ((Central) -> ProxyServer)? = nil
    ) async throws {
        var peripherals: [SimulatedPeripheral] = []
        for device in devices { peripherals.append(await radio.add(device.definition)) }
        peripherals.append(await radio.add(.battery(name: "Other")))
        self.peripherals = peripherals
        central = try await Central(backend: .simulated(radio), configuration: .quiet())
        let attempts = SharedValue(0)
        proxy = MatterProxy(
            central, server: try MatterServerAddress("ws://hub.local:5580"), connectionLimit: connectionLimit,
            beside: clients?(central), clock: clock
        ) { [servers] (_) throws(LoopError) in
            let number = attempts.change { number in
                number += 1
                return number
            }
            guard let behavior = behaviors[min(number, behaviors.count) - 1] else {
                throw .refused("nothing listens")
            }
            let (here, there) = try StreamSocket.pair()
            servers.change { $0.append(RawMatterServer(there, behavior)) }
            return here
        }
        events = await proxy.events()
        running = Task { [proxy] in
            do throws(BLEError) { return .success(try await proxy.run()) } catch { return .failure(error) }
        }
    }

    /// Returns the server of the n-th connection, once the proxy has greeted it.
    func server(_ number: Int = 1) async throws -> RawMatterServer {
        try await servers.until { $0.count >= number }
        let server = servers.value[number - 1]
        try await server.until { $0.received.contains(.greeting) }
        return server
    }

    /// Finds a device, makes a link, and returns its number.
    func connect(_ server: RawMatterServer, device: Int = 0) async throws -> Int {
        let address = devices[device].address
        if !RawMatterServer.events("device_discovered", server.state.value).contains(where: {
            $0["address"] == .string(address.rawValue)
        }) {
            _ = try await server.command("start_scan", ["service_uuids": .array(["fff6"])])
            _ = try await server.found(address)
            _ = try await server.command("stop_scan")
        }
        let answer = try await server.command("connect", ["address": .string(address.rawValue)])
        guard case .int(let link)? = answer["connection_handle"] else { throw BLEError(.failed, "\(answer)") }
        return link
    }

    /// The result of the proxy, which ends by itself.
    func result() async -> Result<Void, BLEError> { await running.value }

    /// Ends the proxy, and its central.
    func end() async throws {
        running.cancel()
        try await running.value.get()
        await central.shutDown()
    }
}
