internal import CGLib
internal import Loop
internal import Waiting

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A stream socket to a bus. GDBus opens it, for any address that GDBus supports.
///
/// Safe to share: it is never changed, and closed with its last reference. Only the loop's thread reads.
final class BusSocket: BusCarrier, @unchecked Sendable {
    private let stream: UnsafeMutablePointer<GIOStream>
    let descriptor: Int32
    var isWritableWithRoom: Bool { true }

    /// The maximum number of descriptors that the kernel passes at once (`SCM_MAX_FD`).
    private static let maximumDescriptors = 253

    init(owning stream: UnsafeMutablePointer<GIOStream>) {
        self.stream = stream
        descriptor = ble_stream_descriptor(stream)
    }

    deinit {
        g_io_stream_close(stream, nil, nil)
        g_object_unref(UnsafeMutableRawPointer(stream))
    }

    /// The address of the system bus in D-Bus notation.
    static func systemBusAddress() throws(DBusError) -> String {
        var error: UnsafeMutablePointer<GError>?
        guard let address = g_dbus_address_get_for_bus_sync(G_BUS_TYPE_SYSTEM, nil, &error) else {
            throw DBusError(taking: error)
        }
        defer { g_free(address) }
        return String(cString: address)
    }

    /// Connects to the bus at an address. Called on the loop's thread.
    static func connect(
        _ address: String, on loop: EventLoop, until outcome: BusOutcome<BusSocket>
    ) async throws(DBusError) -> BusSocket {
        let cancellable = Cancellable()
        g_dbus_address_get_stream(
            address, cancellable.pointer,
            { _, result, request in
                let outcome = GLibRequest<BusSocket>.take(request).outcome
                var error: UnsafeMutablePointer<GError>?
                if let stream = g_dbus_address_get_stream_finish(result, nil, &error) {
                    outcome.deliver(.success(BusSocket(owning: stream)))
                } else {
                    outcome.deliver(.failure(DBusError(taking: error)))
                }
            }, GLibRequest(on: loop, outcome).pointer)
        do throws(DBusError) {
            return try await outcome.wait()
        } catch {
            cancellable.cancel()
            throw error
        }
    }

    func answered(_ serial: UInt32) {}

    /// Does nothing: the socket is closed with its last reference.
    func close() {}

    func read(into space: UnsafeMutableRawBufferPointer) -> BusReading {
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: Self.maximumDescriptors) { received in
            while true {
                var passed = Int32(received.count)
                let count = ble_receive(descriptor, space.baseAddress, space.count, received.baseAddress, &passed)
                if count > 0 {
                    guard passed >= 0 else { return .bytes(count, nil) }
                    return .bytes(count, received.prefix(Int(passed)).map { FileDescriptor(owning: $0) })
                }
                if count == 0 { return .over }
                if errno == EINTR { continue }
                return errno == EAGAIN || errno == EWOULDBLOCK ? .nothingYet : .over
            }
        }
    }

    /// Writes bytes, and descriptors with the first of them. Returns how many bytes the socket has accepted; nil if it
    /// is broken. Any thread may write.
    func write(_ bytes: ArraySlice<UInt8>, _ descriptors: [FileDescriptor]) -> Int? {
        while true {
            let count = bytes.withUnsafeBytes { bytes in
                if descriptors.isEmpty {
                    return send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
                }
                return ble_send(
                    descriptor, bytes.baseAddress, bytes.count, descriptors.map(\.rawValue), Int32(descriptors.count))
            }
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            // The system is short of memory for a while.
            case EAGAIN, EWOULDBLOCK, ENOBUFS, ENOMEM: return 0
            default: return nil
            }
        }
    }
}
