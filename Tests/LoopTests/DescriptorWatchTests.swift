import BLETestSupport
import Loop
import Synchronization
import Testing

@Suite(.hangLimit) struct DescriptorWatchTests {
    private let loop = EventLoop(name: "watch")

    private func onLoop<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            loop.perform { continuation.resume(returning: work()) }
        }
    }

    @Test func `a descriptor is watched until it is cancelled, also if the watch is released`() async throws {
        let (ours, theirs) = try PacketSocket.pair()
        let seen = SharedValue(0)
        await onLoop {
            _ = DescriptorWatch(ours, on: loop, for: .writing) { watch, _ in
                if seen.change({
                    $0 += 1; return $0
                }) == 3 {
                    watch.cancel()
                }
            }
        }
        await until { seen.value == 3 }
        for _ in 0..<10 { await onLoop {} }
        #expect(seen.value == 3)
        withExtendedLifetime(theirs) {}
    }

    @Test func `a watch that is cancelled releases its descriptor, also if the watch is kept`() async throws {
        var (ours, theirs): (FileDescriptor?, FileDescriptor?) = try PacketSocket.pair()
        weak let watched = ours
        let watch = await onLoop { [ours] in
            // As the kernel's listening socket is.
            DescriptorWatch(ours!, on: loop, for: .reading) { _, _ in withExtendedLifetime(ours) {} }
        }
        ours = nil
        #expect(watched != nil)
        await onLoop { watch.cancel() }
        #expect(watched == nil)
        theirs = nil
        withExtendedLifetime((watch, theirs)) {}
    }

    @Test func `a paused watch sees nothing, and goes on`() async throws {
        let (ours, theirs) = try PacketSocket.pair()
        let seen = SharedValue(0)
        let watch = await onLoop {
            DescriptorWatch(ours, on: loop, for: .writing) { watch, _ in
                seen.change { $0 += 1 }
                watch.pause(for: seen.value == 1 ? .milliseconds(1) : .seconds(3600))
            }
        }
        await until { seen.value == 2 }
        for _ in 0..<10 { await onLoop {} }
        #expect(seen.value == 2)
        await onLoop { watch.cancel() }
        withExtendedLifetime(theirs) {}
    }
}
