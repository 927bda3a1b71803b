internal import CGLib
internal import Waiting

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A stream socket to a bus. GDBus opens it, for any address that GDBus supports.
///
/// Safe to share: it is used only on the loop's thread, and closed with its last reference.
final class BusSocket: @unchecked Sendable {
    private let stream: UnsafeMutablePointer<GIOStream>
    let descriptor: Int32

    private init(owning stream: UnsafeMutablePointer<GIOStream>) {
        self.stream = stream
        descriptor = ble_stream_descriptor(stream)
    }

    deinit {
        g_io_stream_close(stream, nil, nil)
        g_object_unref(UnsafeMutableRawPointer(stream))
    }

    static func connect(_ address: String, until outcome: BusOutcome<BusSocket>) async throws(DBusError) -> BusSocket {
        let cancellable = Cancellable()
        g_dbus_address_get_stream(
            address, cancellable.pointer,
            { _, result, box in
                let outcome = Unmanaged<BusOutcome<BusSocket>>.fromOpaque(box!).takeRetainedValue()
                var error: UnsafeMutablePointer<GError>?
                if let stream = g_dbus_address_get_stream_finish(result, nil, &error) {
                    outcome.deliver(.success(BusSocket(owning: stream)))
                } else {
                    outcome.deliver(.failure(DBusError(taking: error)))
                }
            }, Unmanaged.passRetained(outcome).toOpaque())
        do throws(DBusError) {
            return try await outcome.wait()
        } catch {
            cancellable.cancel()
            throw error
        }
    }

    enum Reading {
        case bytes(Int)
        case nothingYet
        /// The other side has closed the socket, or the socket is broken.
        case over
    }

    func read(into space: UnsafeMutableRawBufferPointer) -> Reading {
        while true {
            let count = recv(descriptor, space.baseAddress, space.count, Int32(MSG_DONTWAIT))
            if count > 0 { return .bytes(count) }
            if count == 0 { return .over }
            if errno == EINTR { continue }
            return errno == EAGAIN || errno == EWOULDBLOCK ? .nothingYet : .over
        }
    }

    /// Writes bytes and returns how many the socket has accepted; nil if it is broken.
    func write(_ bytes: ArraySlice<UInt8>) -> Int? {
        while true {
            let count = bytes.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            }
            if count >= 0 { return count }
            if errno == EINTR { continue }
            return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : nil
        }
    }
}
