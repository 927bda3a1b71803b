import BLE
import BLETestSupport
import BlueZTestSupport
import DBus
import Testing

@testable import BLEBlueZ

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A process that can have no more descriptors. Each test has one of its own, because the limit is the process's.
@Suite(.startsProcesses, .hangLimit)
struct DescriptorShortageTests {
    @Test func `a backend without descriptors says so, and works when there are some again`() async throws {
        let bus = try await PrivateBus()
        await #expect(processExitsWith: .success) { [address = bus.address as String] in
            let all = Descriptors()
            let early = BlueZHost(adapter: nil, address: .address(address))
            var codes: [String] = []
            // With each number of descriptors that are left: none of them is one too few for the process.
            for _ in 0..<24 {
                for host in [early, BlueZHost(adapter: nil, address: .address(address))] {
                    do throws(BLEError) {
                        _ = try await Central(backend: BlueZCentral(host), configuration: .quiet())
                    } catch {
                        guard error.code == .bluetoothUnavailable, error.remedy != nil else { throw error }
                        codes.append(error.message)
                    }
                }
                all.release()
            }
            // At first no descriptors, and in the end no bluetoothd on this bus.
            guard codes.count == 48, codes[0].contains("descriptors"), codes[1] == codes[0],
                codes[46] == "bluetoothd is not running", codes[47] == codes[46]
            else { throw BLEError(.failed, "\(codes)") }
        }
        withExtendedLifetime(bus) {}
    }

    @Test func `a loop without descriptors runs tasks and ends sleeps`() async {
        await #expect(processExitsWith: .success) {
            let all = Descriptors()
            let host = BlueZHost(adapter: nil, address: .address("unix:abstract=none"))
            for _ in 0..<3 { try await host.loop.clock.sleep(for: .milliseconds(5)) }
            await host.leave(1)
            withExtendedLifetime(all) {}
        }
    }
}

/// All descriptors that this process can have.
private final class Descriptors {
    private var all: [Int32] = []

    init() {
        var limit = rlimit(rlim_cur: 100, rlim_max: 100)
        precondition(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        while case let next = dup(1), next >= 0 { all.append(next) }
        precondition(errno == EMFILE)
    }

    /// Gives one back.
    func release() { if let last = all.popLast() { close(last) } }
}
