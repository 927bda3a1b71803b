import BLE
import Testing

@testable import BLEBlueZ

/// This program's part in the kernel's discovery.
@Suite struct ManagementDiscoveryTests {
    private typealias Effect = ManagementDiscovery.Effect

    private static let start = [Effect.send(.startServiceDiscovery)]
    private static let stop = [Effect.send(.stopDiscovery)]

    /// A part whose start has been answered.
    private func discovery(
        after status: ManagementStatus = .success, at time: Duration = .zero
    ) -> ManagementDiscovery {
        var discovery = ManagementDiscovery()
        #expect(discovery.begin() == Self.start)
        #expect(discovery.limit == .seconds(10))
        #expect(discovery.answered(status, at: time) == [.begun])
        return discovery
    }

    // MARK: Starts

    @Test func `a start that succeeds begins once, and is stopped at the end`() {
        var discovery = discovery()
        #expect(discovery.begin() == [])
        #expect(discovery.answered(.success, at: .zero) == [])
        #expect(discovery.limit == .seconds(15))
        #expect(discovery.end() == Self.stop)
        #expect(discovery.limit == nil)
        #expect(discovery.end() == [])
    }

    @Test func `the discovery of another program is used, and not stopped`() {
        var discovery = discovery(after: .busy)
        #expect(discovery.end() == [])
    }

    @Test(arguments: [0x01, 0x03, 0x0B, 0x0C, 0x0F, 0x11, 0x14] as [UInt8])
    func `a first start that is refused fails`(_ number: UInt8) {
        let status = ManagementStatus(rawValue: number)
        var discovery = ManagementDiscovery()
        _ = discovery.begin()
        #expect(discovery.answered(status, at: .zero) == [.failed(status)])
        #expect(discovery.end() == [])
        #expect(discovery.begin() == Self.start)
    }

    @Test func `a first start without an answer fails, and a later one is repeated`() {
        var discovery = ManagementDiscovery()
        _ = discovery.begin()
        #expect(discovery.expired(discovery.turn) == [.failed(nil)])
        discovery = self.discovery()
        _ = discovery.changed(isOn: false, at: .seconds(11))
        #expect(discovery.isStarting)
        #expect(discovery.expired(discovery.turn) == Self.start)
        #expect(discovery.answered(.busy, at: .seconds(21)) == [])
        #expect(discovery.end() == [])
    }

    @Test func `an end before the answer leaves the rest to the caller`() {
        var discovery = ManagementDiscovery()
        _ = discovery.begin()
        #expect(discovery.isStarting)
        #expect(discovery.end() == [])
        #expect(!discovery.isStarting)
        #expect(discovery.answered(.success, at: .zero) == [])
        #expect(discovery.end() == [])
    }

    // MARK: Ends

    @Test func `after its whole time, the discovery is started again at once`() {
        var discovery = discovery(at: .seconds(3))
        #expect(discovery.changed(isOn: true, at: .seconds(3)) == [])
        #expect(discovery.changed(isOn: false, at: .seconds(13.24)) == Self.start)
        #expect(discovery.answered(.success, at: .seconds(13.3)) == [])
        #expect(discovery.changed(isOn: false, at: .seconds(13.4)) == [])
        #expect(discovery.limit == .seconds(6))
    }

    @Test func `after a stop by another program, that one starts first`() {
        var discovery = discovery()
        #expect(discovery.changed(isOn: false, at: .seconds(2)) == [])
        #expect(discovery.limit == .seconds(6))
        #expect(discovery.changed(isOn: true, at: .seconds(7)) == [])
        #expect(discovery.limit == .seconds(15))
        #expect(discovery.end() == [])
    }

    @Test func `if the other program does not start, this one does`() {
        var discovery = discovery()
        _ = discovery.changed(isOn: false, at: .seconds(2))
        #expect(discovery.expired(discovery.turn) == Self.start)
        #expect(discovery.answered(.success, at: .seconds(8)) == [])
        #expect(discovery.end() == Self.stop)
    }

    @Test func `a stop for a link is not followed by the long pause`() {
        var discovery = discovery()
        _ = discovery.changed(isOn: false, at: .seconds(2))
        discovery.linkChanged()
        #expect(discovery.limit == .milliseconds(500))
        // Other links change nothing.
        discovery.linkChanged()
        #expect(discovery.limit == .milliseconds(500))
        #expect(discovery.expired(discovery.turn) == Self.start)
        discovery.linkChanged()
        #expect(discovery.isStarting)
    }

    @Test func `bluetoothd is waited for as long as it scans`() {
        var discovery = discovery(after: .busy)
        discovery.neighborChanged(isScanning: true)
        #expect(discovery.changed(isOn: false, at: .seconds(5)) == [])
        #expect(discovery.limit == .seconds(6))
        discovery.neighborChanged(isScanning: false)
        #expect(discovery.limit == .milliseconds(500))
        #expect(discovery.expired(discovery.turn) == Self.start)
    }

    @Test func `a client of bluetoothd that waits for its own discovery gets it after the end of this one`() {
        var discovery = discovery()
        discovery.neighborChanged(isScanning: true)
        #expect(discovery.changed(isOn: false, at: .seconds(10.24)) == [])
        #expect(discovery.limit == .seconds(6))
        #expect(discovery.changed(isOn: true, at: .seconds(15.24)) == [])
        #expect(discovery.end() == [])
    }

    @Test func `a later start that is refused is repeated, unless it is for good`() {
        var discovery = discovery()
        for status in [0x03, 0x0B, 0x0F, 0x11] as [UInt8] {
            _ = discovery.changed(isOn: false, at: .seconds(60))
            #expect(discovery.isStarting)
            #expect(discovery.answered(ManagementStatus(rawValue: status), at: .seconds(60)) == [])
            #expect(discovery.limit == .seconds(6))
            #expect(discovery.expired(discovery.turn) == Self.start)
            #expect(discovery.answered(.success, at: .zero) == [])
        }
        _ = discovery.changed(isOn: false, at: .seconds(60))
        #expect(discovery.answered(.permissionDenied, at: .seconds(60)) == [.failed(.permissionDenied)])
    }

    // MARK: Limits

    @Test(arguments: [ManagementStatus.success, .busy])
    func `an end that was missed is found out`(_ status: ManagementStatus) {
        var discovery = discovery(after: status)
        #expect(discovery.expired(discovery.turn) == Self.start)
        #expect(discovery.answered(.busy, at: .seconds(15)) == [])
        #expect(discovery.end() == [])
    }

    @Test func `the limit of a former state has no effect`() {
        var discovery = discovery()
        let former = discovery.turn
        _ = discovery.changed(isOn: false, at: .seconds(2))
        #expect(discovery.expired(former) == [])
        #expect(!discovery.isStarting)
        let pause = discovery.turn
        _ = discovery.end()
        #expect(discovery.expired(pause) == [])
        #expect(discovery.expired(discovery.turn) == [])
    }

    @Test func `without a wish, nothing that happens has an effect`() {
        var discovery = ManagementDiscovery()
        #expect(discovery.changed(isOn: true, at: .zero) == [])
        #expect(discovery.changed(isOn: false, at: .zero) == [])
        #expect(discovery.answered(.success, at: .zero) == [])
        discovery.linkChanged()
        discovery.neighborChanged(isScanning: true)
        #expect(discovery.limit == nil)
        #expect(discovery.end() == [])
    }
}
