import BLE
import BLETesting
import Synchronization
import Testing

@testable import BLEESPHome

@Suite struct ProxyRequestsTests {
    /// What requests were completed with, in order.
    private final class Log: Sendable {
        private let entries = Mutex<[String]>([])
        var all: [String] { entries.withLock(\.self) }

        func entry(_ name: String) -> ProxyRequests.Completion {
            { result in
                let text = if case .failure(let error) = result { "\(name) \(error.code)" } else { name }
                self.entries.withLock { $0.append(text) }
            }
        }
    }

    private let log = Log()

    @Test func `answers of the same kind belong to the requests in order`() {
        var requests = ProxyRequests()
        _ = requests.add(.value, address: 1, handle: 2, log.entry("first"))
        _ = requests.add(.value, address: 1, handle: 2, log.entry("second"))
        _ = requests.add(.done, address: 1, handle: 2, log.entry("write"))
        #expect(requests.take(.value, address: 1, handle: 3) == nil)
        #expect(requests.take(.value, address: 2, handle: 2) == nil)
        requests.take(.value, address: 1, handle: 2)?(.success([]))
        requests.take(.done, address: 1, handle: 2)?(.success([]))
        requests.take(.value, address: 1, handle: 2)?(.success([]))
        #expect(log.all == ["first", "write", "second"])
        #expect(requests.isEmpty)
    }

    @Test func `the answer to a cancelled request is not that of the next`() {
        var requests = ProxyRequests()
        let first = requests.add(.value, address: 1, handle: 2, log.entry("first"))
        #expect(requests.areAwaited)
        requests.cancel(first)?(.failure(.cancelled))
        #expect(!requests.areAwaited)
        #expect(requests.expects(.value, address: 1, handle: 2))
        #expect(!requests.expects(.value, address: 1, handle: 3))
        _ = requests.add(.value, address: 1, handle: 2, log.entry("second"))
        #expect(requests.areAwaited)
        #expect(requests.cancel(first) == nil)
        #expect(requests.take(.value, address: 1, handle: 2) == nil)
        requests.take(.value, address: 1, handle: 2)?(.success([]))
        #expect(log.all == ["first cancelled", "second"])
        #expect(requests.isEmpty)
    }

    @Test func `a request whose answer is no longer expected leaves no place`() {
        var requests = ProxyRequests()
        let first = requests.add(.subscription, address: 1, handle: 2, log.entry("stop"))
        requests.remove(first)?(.success([]))
        _ = requests.add(.subscription, address: 1, handle: 2, log.entry("start"))
        requests.take(.subscription, address: 1, handle: 2)?(.success([]))
        #expect(log.all == ["stop", "start"])
    }

    @Test func `an error belongs to the oldest request of the attribute`() {
        var requests = ProxyRequests()
        _ = requests.add(.subscription, address: 1, handle: 2, log.entry("subscription"))
        _ = requests.add(.value, address: 1, handle: 2, log.entry("read"))
        requests.takeFailed(address: 1, handle: 2)?(.failure(.shutDown))
        requests.takeFailed(address: 1, handle: 2)?(.failure(.shutDown))
        #expect(requests.takeFailed(address: 1, handle: 2) == nil)
        #expect(log.all == ["subscription shutDown", "read shutDown"])
    }

    @Test func `the end of a link takes its requests in order`() {
        var requests = ProxyRequests()
        _ = requests.add(.done, address: 1, handle: 9, log.entry("a"))
        _ = requests.add(.value, address: 2, handle: 2, log.entry("other"))
        _ = requests.add(.pairing, address: 1, log.entry("b"))
        for completion in requests.takeAll(address: 1) { completion(.failure(.shutDown)) }
        #expect(log.all == ["a shutDown", "b shutDown"])
        for completion in requests.takeAll() { completion(.failure(.shutDown)) }
        #expect(requests.isEmpty)
    }
}
