import BLE
import BLESimulation
import BLETestSupport
import Foundation
import Testing

@testable import BLECommand

/// Lines in a session with a simulated radio.
@Suite(.hangLimit) struct ShellTests {
    private let radio = SimulatedRadio()

    private func session(_ body: (inout Shell, SimulatedPeripheral) async throws -> Void) async throws {
        let strap = await radio.add(.heartRateStrap(beatsPerMinute: 72))
        var configuration = Central.Configuration.quiet()
        configuration.connectionPolicy = .onDemand(idle: .seconds(10))
        let central = try await Central(backend: .simulated(radio), configuration: configuration)
        var shell = Shell(
            central: central, output: Output { _ in }, timeout: HangLimit.step, interrupts: nil, pairing: nil)
        try await body(&shell, strap)
        await central.shutDown()
    }

    @Test func `a use that fails leaves the policy of the link, and one that succeeds holds it`() async throws {
        try await session { shell, strap in
            await strap.setAcceptsLinks(false)
            await strap.fail(.connect, .next(1))
            let peripheral = shell.central.peripheral(strap.id)
            let failed = try await shell.perform("use \(strap.id)")
            #expect(failed != .next(status: 0))
            #expect(shell.held == nil)
            #expect(await peripheral.connectionPolicy == .onDemand(idle: .seconds(10)))
            await strap.setAcceptsLinks(true)
            let step1 = try await shell.perform("use \(strap.id)")
            #expect(step1 == .next(status: 0))
            #expect(await peripheral.connectionPolicy == .manual)
            let step2 = try await shell.perform("disconnect")
            #expect(step2 == .next(status: 0))
            #expect(await peripheral.connectionPolicy == .onDemand(idle: .seconds(10)))
        }
    }

    @Test func `a prompt completes the services that are known, and asks for none`() async throws {
        try await session { shell, strap in
            let step3 = try await shell.perform("use \(strap.id)")
            #expect(step3 == .next(status: 0))
            #expect(await shell.vocabulary().database?[BluetoothUUID(0x180D)] != nil)
            // A discovery would not end.
            let fault = await strap.hold(.discover)
            let changes = await shell.central.peripheral(strap.id).connectionEvents()
            await strap.setServices([])
            for try await event in changes { if case .servicesChanged = event { break } }
            #expect(await shell.vocabulary().database == nil)
            await fault.release()
        }
    }

    @Test func `a file is sent over the link that is held`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "sent-\(UUID().uuidString)")
        try Data([1, 2, 3]).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let receiver = await radio.add(Receiver().definition(name: "Receiver"))
        try await session { shell, _ in
            let use = try await shell.perform("use \(receiver.id)")
            #expect(use == .next(status: 0))
            let send = try await shell.perform("send \(file.path(percentEncoded: false))")
            #expect(send == .next(status: 0))
            #expect(await receiver.isConnected)
        }
    }

    @Test(
        arguments: [
            ("expect battery-level 90%", 0), ("expect battery-level 5a", 0), ("expect battery-level 91%", 1),
            ("expect body-sensor-location chest", 0), ("expect battery-level 91% --timeout 5", 1),
            ("expect 2a37 heart-rate=72 --within 3600", 0), ("expect battery-level 90% --within 3600", 0),
            ("expect battery-level 300%", 64), ("expect 2a19/2902 01 --within 1", 64), ("expect battery-level", 64),
            ("expect battery-level 90% --within 0", 64), ("expect 2aff 00", 16),
        ] as [(String, Int32)])
    func `a value that is expected is compared`(_ line: String, _ status: Int32) async throws {
        try await session { shell, strap in
            let step4 = try await shell.perform("use \(strap.id)")
            #expect(step4 == .next(status: 0))
            let step5 = try await shell.perform(line)
            #expect(step5 == .next(status: status), "\(line)")
        }
    }
}

@Suite struct ExpectedValueTests {
    @Test(
        arguments: [
            ("heart-rate=72", [0x00, 72], true), ("heart-rate=72", [0x11, 72, 0, 0x55, 3], true),
            ("heart-rate=72", [0x00, 73], false), ("heart-rate=72", [], false),
            ("heart-rate=72, rr-interval=1", [0x10, 72, 0, 4, 0, 2], true),
            ("heart-rate=72, rr-interval=1", [0x10, 72, 0, 2], false),
        ] as [(String, [UInt8], Bool)])
    func `fields that are given are compared, and no others`(_ text: String, _ value: [UInt8], _ isMet: Bool) throws {
        let format = try #require(ShownValue.format(of: BluetoothUUID(0x2A37)))
        let expected = ExpectedValue([], try format.given(text: text), format)
        #expect(expected.isMet(by: value) == isMet)
    }

    @Test func `bytes are compared as they are`() {
        let expected = ExpectedValue([0x5A], nil, ShownValue.format(of: BluetoothUUID(0x2A19)))
        #expect(expected.isMet(by: [0x5A]))
        #expect(!expected.isMet(by: [0x5A, 0]))
        #expect(expected.text == "90 %")
    }
}
