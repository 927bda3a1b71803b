import BLE
import BLEBlueZ
import BLEProfiles
import BLESimulation
import BLETestSupport
import BLEBackendTesting
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
import Synchronization
import Testing

extension FailureTests {
    // MARK: Errors of bluetoothd

    @Test(arguments: [
        (
            DBusError.bluez("NotPermitted", "Read not permitted"), BLEError.Code.notPermitted,
            ATTError?.some(.readNotPermitted)
        ),
        (.bluez("NotPermitted", "Not paired"), .pairingRequired, nil),
        (.bluez("NotAuthorized", "Operation Not Authorized"), .notPermitted, .insufficientAuthorization),
        (.bluez("NotSupported", "Operation is not supported"), .notSupported, .requestNotSupported),
        (.bluez("InvalidArguments", "Invalid offset"), .invalidOffset, .invalidOffset),
        (.bluez("InvalidArguments", "Invalid Length"), .invalidLength, .invalidAttributeValueLength),
        (.bluez("InvalidValueLength", "Invalid Length"), .invalidLength, .invalidAttributeValueLength),
        (.bluez("Failed", "Operation failed with ATT error: 0x80"), .attributeError, ATTError(rawValue: 0x80)),
        (.bluez("Failed", "Operation failed with ATT error: 0x11"), .attributeError, .insufficientResources),
        (.bluez("Failed", "Not connected"), .disconnected, nil),
        (.bluez("Failed", ""), .failed, nil),
        (.bluez("NotConnected", "Not Connected"), .disconnected, nil),
        (.bluez("Unheard", "of"), .failed, nil),
        (.bus("AccessDenied", "no"), .unauthorized, nil),
        (.bus("NoReply", ""), .bluetoothLost, nil),
    ])
    func `an error of bluetoothd keeps what it says`(
        _ answer: DBusError, _ code: BLEError.Code, _ attError: ATTError?
    ) async throws {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        try await strap.connect()
        await peer.daemon.fail("ReadValue", answer)
        let error = await #expect(throws: BLEError.self) { _ = try await strap.read(EchoStrap.output) }
        #expect(error?.code == code)
        #expect(error?.attError == attError)
        #expect(error?.stackErrorName == answer.name)
        #expect(error?.peripheral == strap.id)
        #expect(error?.service == EchoStrap.service)
        #expect(error?.characteristic == EchoStrap.output.key.characteristic)
        await central.shutDown()
    }

    @Test(arguments: [
        (DBusError.bluez("Failed", "br-connection-canceled"), BLEError.Code.connectionCancelled),
        (.bluez("Failed", "le-connection-unknown"), .connectionFailed),
        (.bluez("NotReady", "Resource Not Ready"), .poweredOff),
    ])
    func `a refused connect says why`(_ answer: DBusError, _ code: BLEError.Code) async throws {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        await peer.daemon.fail("Connect", answer)
        #expect(await #expect(throws: BLEError.self) { try await strap.connect() }?.code == code)
        #expect(await strap.connectionState == .disconnected)
        try await strap.connect()
        await central.shutDown()
    }

    @Test func `a device whose object is gone is searched for`() async throws {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        await peer.daemon.fail("Connect", .bus("UnknownObject", "gone"))
        try await strap.connect()
        #expect(await peer.daemon.calls["StartDiscovery"] == 2)
        await central.shutDown()
    }

    @Test(arguments: [
        DBusError.bluez("Failed", "le-connection-abort-by-local"), .bluez("Failed", "Input/output error"),
        .bluez("Failed", "Operation already in progress"), .bluez("InProgress", "In Progress"),
    ])
    func `a connect that was cut short is tried again`(_ answer: DBusError) async throws {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        await peer.daemon.fail("Connect", answer)
        try await strap.connect()
        #expect(await peer.daemon.calls["Connect"] == 2)
        await central.shutDown()
    }

    @Test func `a scan that a dead bluetoothd's scan stands in the way of is tried again`() async throws {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        await peer.daemon.fail("StartDiscovery", .bluez("InProgress", "Operation already in progress"))
        #expect(try await central.find().id == EchoStrap.id)
        #expect(await peer.daemon.calls["StartDiscovery"] == 2)
        await central.shutDown()
    }

    @Test func `an operation that another client holds up is tried again`() async throws {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        try await strap.connect()
        await peer.daemon.fail("WriteValue", .bluez("InProgress", "In Progress"))
        try await strap.write([1, 2], to: EchoStrap.input)
        #expect(await peer.written() == [1, 2])
        await central.shutDown()
    }

    @Test func `a write after one that timed out waits until bluetoothd has finished that one`() async throws {
        let peer = try await FakePeer()
        let clock = ManualClock()
        let central = try await peer.makeCentral(.quiet(clock: clock))
        let strap = try await central.find()
        try await strap.connect()
        await peer.daemon.hang("WriteValue")
        // So long that the bus's own deadline, in real time, is not reached.
        let timeout = HangLimit.step * 2
        let first = Task { try await strap.write([1], to: EchoStrap.input, timeout: timeout) }
        // The deadline comes when the write has reached bluetoothd.
        await until { await peer.daemon.hungCount == 1 }
        await clock.sleepers(1, for: timeout)
        clock.advance(by: timeout)
        await expectError(.timedOut) { try await first.value }
        let isOver = SharedValue(false)
        let next = Task {
            defer { isOver.change { $0 = true } }
            try await strap.write([2], to: EchoStrap.input)
        }
        // bluetoothd has refused it, and is asked again when it has finished the first.
        await until { await peer.daemon.calls["WriteValue"] == 1 }
        await clock.sleepers(1, for: .milliseconds(10))
        await peer.daemon.release()
        await until { await peer.written() == [1] }
        await until { await peer.daemon.calls["WriteValue"] == 2 }
        // It may be refused again: the first write is seen before it is finished.
        while !isOver.value {
            if let pause = clock.remaining(ofSleepsUpTo: .milliseconds(200)) { clock.advance(by: pause) }
            await Task.yield()
        }
        try await next.value
        let written = await peer.written()
        #expect(written == [2])
        await central.shutDown()
    }

    @Test func `a connection that bluetoothd does not signal is noticed`() async throws {
        let peer = try await FakePeer()
        await peer.daemon.omitConnectedSignal()
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        #expect(try await strap.read(.batteryLevel) == 87)
        await central.shutDown()
    }
}
