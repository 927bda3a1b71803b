import BLE
import Testing
import Waiting

@testable import BLEBlueZ

/// What this client uses of the attributes of its peripherals.
@Suite struct AttributeStateTests {
    private let strap = Peripheral.ID(rawValue: "F0:F1:F2:F3:F4:F5")
    private let path = "/strap/char000a"
    private var characteristic: AttributeID { AttributeID(peripheral: strap, handle: 10) }

    // MARK: Notifications

    @Test func `a delivery ends once; what was started stays until it is stopped`() {
        var uses = NotificationUses()
        uses.begin(characteristic, path)
        #expect(uses.deliveredPaths == [path])
        #expect(uses.endDelivery(of: characteristic) == path)
        #expect(uses.endDelivery(of: characteristic) == nil)
        #expect(uses.isStarted(path, strap))
        uses.stopped(path, strap)
        #expect(uses.started(of: strap).isEmpty)
    }

    // MARK: Sockets

    @Test func `a socket that is acquired again before the end of the last is still this client's`() {
        var sockets = SocketTable()
        let acquisition = Acquisition(path: path, use: .notifyAcquired)
        sockets.acquire(acquisition, strap)
        sockets.acquire(acquisition, strap)
        sockets.acquisitionEnded(acquisition, strap)
        #expect(sockets.uses(path, strap) == .notifyAcquired)
        sockets.acquisitionEnded(acquisition, strap)
        #expect(sockets.uses(path, strap) == [])
        // An end that belongs to another client changes nothing.
        sockets.acquisitionEnded(acquisition, strap)
        sockets.acquire(acquisition, strap)
        #expect(sockets.uses(path, strap) == .notifyAcquired)
    }

    @Test func `the end of a link forgets its acquisitions alone`() {
        var sockets = SocketTable()
        let other = Peripheral.ID(rawValue: "other")
        sockets.acquire(Acquisition(path: path, use: .writeAcquired), strap)
        sockets.acquire(Acquisition(path: path, use: .notifyAcquired), other)
        sockets.forgetAcquisitions(of: strap)
        #expect(sockets.uses(path, strap) == [])
        #expect(sockets.uses(path, other) == .notifyAcquired)
    }

    // MARK: Reads

    @Test func `notifications come to the reads while there are any, and then to their reader`() {
        var reads = ReadTable()
        let deliver = ReadTable.Deliver { _ in }
        #expect(reads.begin(path, deliver) == true)
        #expect(reads.begin(path, deliver) == false)
        #expect(reads.arrived([1], path).needsCheck == true)
        let second = reads.arrived([2], path)
        #expect(second.earlier?.value == [1])
        #expect(second.needsCheck == false)
        // The answer shows that the last value was read.
        let first = reads.end(path, [2], offset: 0)
        #expect(first.notification == nil)
        #expect(first.deliver == nil)
        let last = reads.end(path, [3], offset: 0)
        #expect(last.deliver != nil)
        #expect(!reads.isReading(path))
        #expect(reads.arrived([4], path).needsCheck == false)
    }

    @Test func `a held value that no answer follows is let go, once`() throws {
        var reads = ReadTable()
        _ = reads.begin(path, ReadTable.Deliver { _ in })
        _ = reads.arrived([1], path)
        let check = reads.nextCheck(path)
        let number = try #require(check)
        #expect(reads.letGo(path, number)?.value == [1])
        #expect(reads.letGo(path, number) == nil)
        #expect(reads.nextCheck(path) == nil)
        // The check has ended, so the next value begins another.
        #expect(reads.arrived([2], path).needsCheck == true)
    }

    @Test func `a held value is not delivered after notifications were switched off`() {
        var reads = ReadTable()
        _ = reads.begin(path, ReadTable.Deliver { _ in })
        _ = reads.arrived([1], path)
        reads.setDelivery(nil, path)
        let end = reads.end(path, nil, offset: 0)
        #expect(end.notification == nil)
        #expect(end.deliver == nil)
    }

    @Test func `a read that was not sent leaves the held value to the one that was`() {
        var reads = ReadTable()
        _ = reads.begin(path, ReadTable.Deliver { _ in })
        _ = reads.begin(path, ReadTable.Deliver { _ in })
        _ = reads.arrived([7], path)
        let withdrawn = reads.withdraw(path)
        #expect(withdrawn.notification == nil && withdrawn.deliver == nil)
        let end = reads.end(path, [7], offset: 0)
        #expect(end.notification == nil && end.deliver != nil)
        // A value that arrives while only an unsent read is pending is a notification.
        _ = reads.begin(path, ReadTable.Deliver { _ in })
        _ = reads.arrived([8], path)
        let last = reads.withdraw(path)
        #expect(last.notification?.value == [8] && last.deliver != nil)
        #expect(!reads.isReading(path))
    }

    // MARK: Calls

    @Test func `an operation is completed once, and not after its caller has gone`() {
        var calls = AttributeCalls()
        nonisolated(unsafe) var results: [Result<[UInt8], BLEError>] = []
        let (first, second, third) = (calls.next(), calls.next(), calls.next())
        for (call, device) in [(first, "/strap"), (second, "/lock"), (third, "/strap")] {
            calls.add(call, on: device) { results.append($0) }
        }
        #expect(Set(calls.all(on: "/strap")) == [first, third])
        calls.remove(first)?.completion(.failure(.pairingRefused))
        calls.remove(first)?.completion(.success([1]))
        _ = calls.remove(second)
        calls.remove(second)?.completion(.success([2]))
        calls.remove(third)?.completion(.success([3]))
        let outcomes = results.map { result in
            switch result {
            case .success(let value): "\(value)"
            case .failure(let error): error.code.rawValue
            }
        }
        #expect(outcomes == ["pairingRequired", "[3]"])
        #expect(calls.count == 0)
    }

    @Test func `the attempts that follow a failed operation end with its caller`() async {
        var calls = AttributeCalls()
        let (first, second) = (calls.next(), calls.next())
        let (pauses, continuation) = AsyncStream<Int>.makeStream()
        let attempts = Task { for await _ in pauses {} }
        calls.setRetry(first, attempts)
        calls.setRetry(second, Task {})
        calls.cancelRetry(first)
        await attempts.value
        withExtendedLifetime(continuation) {}
        // What has ended cannot be cancelled.
        calls.endRetry(first)
        calls.cancelRetry(first)
        calls.endRetry(second)
    }
}
