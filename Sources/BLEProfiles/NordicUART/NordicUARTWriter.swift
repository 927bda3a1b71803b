public import BLE

/// Writes bytes to a Nordic UART as fast as the system accepts them, in packets of the maximum length.
///
/// Bytes that one task writes arrive in order; bytes of concurrent tasks may be interleaved. The writer is closed when
/// its last reference is released, by ``close()``, and when the link ends.
public final class NordicUARTWriter: Sendable {
    private let peripheral: Peripheral
    private let key: Characteristic<[UInt8]>
    /// Nil if the receiver is written with response.
    private let packets: PacketWriter<[UInt8]>?

    init(peripheral: Peripheral, key: Characteristic<[UInt8]>, packets: PacketWriter<[UInt8]>?) {
        self.peripheral = peripheral
        self.key = key
        self.packets = packets
    }

    /// Writes bytes. Returns when the system has accepted them, or, with response, when the peripheral has accepted
    /// them.
    ///
    /// Throws the errors of `PacketWriter.write(_:timeout:)`. Some of the bytes may then have been sent.
    public func write(_ bytes: [UInt8]) async throws(BLEError) {
        let length = try await packetLength()
        for start in stride(from: 0, to: bytes.count, by: length) {
            let packet = Array(bytes[start..<min(start + length, bytes.count)])
            if let packets {
                try await packets.write(packet)
            } else {
                try await peripheral.write(packet, to: key)
            }
        }
    }

    /// Writes text in UTF-8, without adding a line end.
    public func write(_ text: String) async throws(BLEError) { try await write(Array(text.utf8)) }

    /// Closes the writer, so that another one can be opened. Bytes already written are still sent.
    public func close() { packets?.close() }

    /// Returns the maximum length of a packet. Longer packets would become long writes, which such receivers do not
    /// support.
    private func packetLength() async throws(BLEError) -> Int {
        if let packets { return max(1, packets.maximumLength) }
        do throws(BLEError) {
            return max(1, try await peripheral.maximumWriteLength(for: .withoutResponse))
        } catch  where error.code == .notSupported {
            // If the system does not report a maximum, the shortest possible one is used.
            return 20
        }
    }
}
