import BLE
import BLEBackendTesting
import BLEESPHome
import BLEProxy
import BLESimulation
import BLETestSupport
import Loop

/// The contract's peripheral on a simulated radio, behind a proxy, which a central uses over its native API.
struct ProxiedPeer: SimulatedStrapPeer {
    let strap = SimulatedStrap()
    let radio: SimulatedRadio
    let peripheral: SimulatedPeripheral
    /// The central whose radio the proxy offers.
    let inner: Central
    let server: ProxyServer
    /// The clock of the server's limits for its clients.
    let clock = ManualClock()
    let key: EncryptionKey?

    init(key: EncryptionKey? = .random(), connectionLimit: Int = 5, clientLimit: Int = 16) async throws {
        radio = SimulatedRadio()
        peripheral = await radio.add(strap.definition)
        inner = try await Central(backend: .simulated(radio), configuration: .quiet())
        self.key = key
        server = ProxyServer(
            inner,
            .init(
                name: "attic", address: "AA:BB:CC:DD:EE:FF", key: key, connectionLimit: connectionLimit,
                clientLimit: clientLimit), clock: clock)
    }

    /// A backend that reaches the proxy over a pair of sockets.
    func backend(key: EncryptionKey?) -> ESPHomeCentral {
        ESPHomeCentral(name: "attic", key: key) { [server] (_) throws(LoopError) in
            let (here, there) = try StreamSocket.pair()
            await server.accept(there)
            return here
        }
    }

    func makeCentral(_ configuration: Central.Configuration) async throws -> Central {
        try await Central(backend: backend(key: key), configuration: configuration)
    }

    /// Ends the proxy, and its central.
    func end() async {
        await server.close()
        await inner.shutDown()
    }

    func stopNotifications(_ service: UInt16, _ characteristic: UInt16) async {}
    func stopBluetooth() async { await radio.stop() }
    func restartBluetooth() async { await radio.restart() }
    func setPowered(_ isPowered: Bool) async { await radio.setPowered(isPowered) }
    func setBlocked(_ isBlocked: Bool) async { await radio.setBlocked(isBlocked) }
    func unplug() async { await radio.setPresent(false) }
    func plug() async { await radio.setPresent(true) }
}
