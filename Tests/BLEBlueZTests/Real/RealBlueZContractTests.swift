import BLE
import BLEBlueZ
import BLEBackendTesting
import BLETestSupport
import BlueZTestSupport
import Foundation
import Testing

/// The contract on the real bluetoothd with a peripheral on an independent stack. Runs inside `Scripts/with-bluez`
/// only: `Scripts/test` sees to that.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .hangLimit)
struct RealBlueZContractTests {
    @Test(arguments: BackendContract.selected)
    func contract(_ item: BackendContract) async throws {
        try await item.check(RealPeer())
    }
}

/// The contract's peripheral: the guest's peer, commanded over a socket. See `Scripts/guest/peer`.
struct RealPeer: ContractPeer {
    var transport = BlueZConnection.Transport.socket
    /// A `Connected` signal is lost, or the kernel drops a packet. Another attempt helps then.
    let timeout = Duration.seconds(30)
    var systemProperties: [String: SystemValue]? { EchoStrap.systemProperties }

    typealias Failure = Guest.Failure

    func makeCentral(_ configuration: Central.Configuration) async throws -> Central {
        try await Central(
            backend: BlueZConnection(transport: transport).makeCentral(), configuration: configuration)
    }

    /// bluetoothd takes 2 s to end a link, unless the peripheral does.
    func shutDown(_ central: Central) async {
        async let end: Void = central.shutDown()
        try? await endLinks()
        await end
    }

    func disconnect() async throws { try await tell("disconnect") }
    func loseLink() async throws { try await tell("lost") }
    func setAdvertising(_ isAdvertising: Bool) async throws { try await tell("adv \(isAdvertising ? "on" : "off")") }
    func setStrength(_ strength: Int?) async throws { try await tell("strength \(strength ?? 127)") }
    func notify(_ value: [UInt8]) async throws { try await tell("notify \(Hex.string(value))") }
    func burst(count: Int, length: Int) async throws { try await ask("burst \(count) \(length)") }

    func written() async throws -> [UInt8] {
        let answer = try await ask("written")
        return answer == "-" ? [] : Hex.bytes(answer) ?? []
    }

    func hold() async throws { try await tell("hold") }
    func release() async throws { try await tell("release") }

    func setServices(_ services: PeerServices) async throws { try await tell("services \(services.rawValue)") }

    func setPairing(_ pairing: PeerPairing) async throws { try await tell("pairing \(pairing.rawValue)") }
    func enter(_ passkey: Passkey) async throws { try await tell("type \(passkey.value)") }
    func untilAskedToPair() async throws { try await until("requests") { $0 > 0 } }
    func bonds() async throws -> Int { Int(try await ask("bonds")) ?? -1 }
    func loseBonds() async throws { try await tell("forget") }

    func reset() async throws {
        try await tell("reset")
        // A check that failed while bluetoothd was stopped must not make later ones fail.
        try await run("read -r pid </run/bluez/bluetoothd.pid && kill -0 $pid || /run/bluez/start")
        try await run("for f in /sys/class/bluetooth/hci0/rfkill*/soft; do [ ! -e $f ] || echo 0 >$f; done")
        try await endLinks()
    }

    func until(connections: Int) async throws { try await until("connections") { $0 == connections } }
    func until(subscribers: Int) async throws { try await until("subscribers") { $0 == subscribers } }
    func untilHeld() async throws { try await until("held") { $0 > 0 } }

    func stopNotifications(_ service: UInt16, _ characteristic: UInt16) async throws {
        func digits(_ handle: UInt16) -> String { Hex.string([UInt8(handle >> 8), UInt8(handle & 0xFF)]) }
        let device = "/org/bluez/hci0/dev_F0_F1_F2_F3_F4_F5"
        let path = "\(device)/service\(digits(service))/char\(digits(characteristic))"
        try await run("busctl call org.bluez \(path) org.bluez.GattCharacteristic1 StopNotify")
    }

    func stopBluetooth() async throws { try await run("/run/bluez/kill") }

    func restartBluetooth() async throws {
        try await run("/run/bluez/start")
        try await endLinks()
    }

    /// Ends the remaining links, including those that are being disconnected already.
    private func endLinks() async throws {
        try await until("connections") { connections in
            if connections > 0 { _ = try? await ask("disconnect") }
            return connections == 0
        }
    }

    func setPowered(_ isPowered: Bool) async throws {
        // bluetoothd refuses the call while it is still carrying out the one before.
        try await run(
            "for i in {1..100}; do busctl set-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 Powered b \(isPowered) && exit; sleep 0.2; done; exit 1"
        )
    }

    func setBlocked(_ isBlocked: Bool) async throws {
        try await run("echo \(isBlocked ? 1 : 0) > /sys/class/bluetooth/hci0/rfkill*/soft")
    }

    func unplug() async throws { try await tell("unplug") }
    func plug() async throws { try await tell("plug") }

    // MARK: The guest

    /// Repeats a command until its answer, a number, is right.
    func until(_ command: String, _ matches: (Int) async -> Bool) async throws {
        try await Guest.until { await matches(Int(try await ask(command)) ?? -1) }
    }

    /// A command that is answered with "ok".
    func tell(_ command: String) async throws {
        let answer = try await ask(command)
        guard answer == "ok" else { throw Failure(command: command, answer: answer) }
    }

    /// Sends one line to the peer, and returns its answer.
    @discardableResult func ask(_ command: String) async throws -> String { try await Guest.tellPeer(command) }

    /// A shell command in the guest.
    func run(_ command: String) async throws { try await Guest.run(command) }

    /// The number that a shell command in the guest prints.
    func count(_ command: String) async throws -> Int {
        let file = "/tmp/count-\(UUID().uuidString)"
        try await run("\(command) > \(file)")
        defer { try? FileManager.default.removeItem(atPath: file) }
        return Int(try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines))
            ?? -1
    }
}
