internal import CLoop

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
    internal import Synchronization
#endif

/// What the system says to a descriptor that is to be watched.
enum WatchResult {
    case done
    /// There is no memory now.
    case failed
    /// It cannot be waited for.
    case refused
}

#if os(Linux)
    /// What the thread of an event loop waits with: epoll, with an event and a timer of the kernel.
    ///
    /// Safe to share: any thread may use the event and the timer, and the rest is used on the loop's thread only.
    final class LoopPolling: @unchecked Sendable {
        /// Whether the timer is set from any thread. Otherwise, the loop has to wake for it.
        static let timerWakes = true
        /// The maximum number of descriptors that one wait reports. Others that are ready are first in the next one.
        private static let capacity = 64
        /// What the event and the timer report. Others report their watch.
        private static let (eventTag, timerTag) = (UInt(0), UInt(1))

        private let poll = FileDescriptor(owning: ble_poll_create())
        private let event = FileDescriptor(owning: ble_event_create())
        private let timer = FileDescriptor(owning: ble_timer_create())
        private let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)

        /// Returns nil if the process can have no more descriptors.
        init?() {
            // Both report that they became ready, once for each time, so neither has to be read.
            for (descriptor, tag) in [(event, Self.eventTag), (timer, Self.timerTag)] {
                let pointer = UnsafeMutableRawPointer(bitPattern: tag)
                guard ble_poll_control(poll.rawValue, EPOLL_CTL_ADD, descriptor.rawValue, BLE_POLL_ONCE, pointer) == 0
                else { return nil }
            }
        }

        deinit { events.deallocate() }

        /// Ends the current wait, or else the next one.
        func wake() { ble_event_set(event.rawValue) }

        func setTimer(_ deadline: ContinuousClock.Instant) {
            // Zero would stop the timer.
            let (seconds, attoseconds) = max(ContinuousClock.now.duration(to: deadline), .nanoseconds(1)).components
            ble_timer_set(timer.rawValue, Int(clamping: seconds), Int(attoseconds / 1_000_000_000))
        }

        /// Watches a descriptor for something instead of what it was watched for.
        func watch(
            _ descriptor: Int32, for new: DescriptorWatch.Readiness?, insteadOf old: DescriptorWatch.Readiness?,
            _ watch: UnsafeMutableRawPointer
        ) -> WatchResult {
            let operation = new == nil ? EPOLL_CTL_DEL : old == nil ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
            let result = ble_poll_control(poll.rawValue, operation, descriptor, new?.rawValue ?? 0, watch)
            switch result {
            case 0: return .done
            case ENOMEM, ENOSPC: return .failed
            // A file or a directory, or another epoll.
            case EPERM, ELOOP, EINVAL: return .refused
            default: preconditionFailure("not watched: \(result)")
            }
        }

        /// Waits until something is ready, or only looks. Returns for how many descriptors ``report(_:_:)`` has
        /// something.
        func wait(_ isBlocking: Bool) -> Int {
            max(0, Int(epoll_wait(poll.rawValue, events, Int32(Self.capacity), isBlocking ? -1 : 0)))
        }

        /// Calls `body` with the watches of the first `count` descriptors that are ready. Returns whether the timer has
        /// expired.
        func report(
            _ count: Int, _ body: (UnsafeMutableRawPointer, DescriptorWatch.Readiness) -> Void
        ) -> Bool {
            var isExpired = false
            for index in 0..<count {
                switch UInt(bitPattern: events[index].data.ptr) {
                case Self.eventTag: break
                case Self.timerTag: isExpired = true
                default: body(events[index].data.ptr, .init(rawValue: events[index].events))
                }
            }
            return isExpired
        }
    }
#else
    /// What the thread of an event loop waits with: `poll`, and a pipe for waking it.
    ///
    /// Safe to share: any thread may write to the pipe, the deadline is protected by a mutex, and the rest is used on
    /// the loop's thread only.
    final class LoopPolling: @unchecked Sendable {
        static let timerWakes = false

        private let ends: (reading: FileDescriptor, writing: FileDescriptor)
        private let deadline = Mutex<ContinuousClock.Instant?>(nil)
        /// What is polled: the pipe, and a descriptor for each watch.
        private var polled: [pollfd]
        private var watches: [UnsafeMutableRawPointer?] = [nil]

        /// Returns nil if the process can have no more descriptors.
        init?() {
            var numbers: [Int32] = [-1, -1]
            guard pipe(&numbers) == 0 else { return nil }
            for number in numbers {
                _ = fcntl(number, F_SETFD, FD_CLOEXEC)
                _ = fcntl(number, F_SETFL, O_NONBLOCK)
            }
            ends = (FileDescriptor(owning: numbers[0]), FileDescriptor(owning: numbers[1]))
            polled = [pollfd(fd: numbers[0], events: Int16(POLLIN), revents: 0)]
        }

        func wake() {
            var byte: UInt8 = 0
            _ = write(ends.writing.rawValue, &byte, 1)
        }

        func setTimer(_ deadline: ContinuousClock.Instant) { self.deadline.withLock { $0 = deadline } }

        func watch(
            _ descriptor: Int32, for new: DescriptorWatch.Readiness?, insteadOf old: DescriptorWatch.Readiness?,
            _ watch: UnsafeMutableRawPointer
        ) -> WatchResult {
            if old != nil, let index = watches.firstIndex(of: watch) {
                watches.remove(at: index)
                polled.remove(at: index)
            }
            if let new {
                watches.append(watch)
                polled.append(pollfd(fd: descriptor, events: Int16(new.rawValue), revents: 0))
            }
            return .done
        }

        func wait(_ isBlocking: Bool) -> Int {
            // At most an hour at a time, so that the time has room.
            let left = deadline.withLock(\.self).map { ContinuousClock.now.duration(to: $0).milliseconds }
            let time = left.map { Int32(min(max(0, $0), 3_600_000)) } ?? -1
            _ = poll(&polled, nfds_t(polled.count), isBlocking ? time : 0)
            return polled.count
        }

        func report(
            _ count: Int, _ body: (UnsafeMutableRawPointer, DescriptorWatch.Readiness) -> Void
        ) -> Bool {
            var space = [UInt8](repeating: 0, count: 64)
            if polled[0].revents != 0 { while read(ends.reading.rawValue, &space, space.count) > 0 {} }
            // A watch that is called may change both lists.
            let ready = zip(watches, polled).filter { $0 != nil && $1.revents != 0 }
            for (watch, polled) in ready { body(watch!, .init(rawValue: UInt32(UInt16(bitPattern: polled.revents)))) }
            return deadline.withLock { deadline in
                guard let due = deadline, due <= .now else { return false }
                deadline = nil
                return true
            }
        }
    }
#endif
