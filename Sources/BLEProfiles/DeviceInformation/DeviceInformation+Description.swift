internal import BLE

extension SystemID: CustomStringConvertible {
    /// The organization's and the manufacturer's part in hexadecimal, such as `fedcba-9876543210`.
    public var description: String {
        let high = (0..<3).map { UInt8(truncatingIfNeeded: organization >> (16 - 8 * $0)) }
        let low = (0..<5).map { UInt8(truncatingIfNeeded: manufacturer >> (32 - 8 * $0)) }
        return Hex.string(high) + "-" + Hex.string(low)
    }
}

extension PnPID: CustomStringConvertible {
    /// The source, and in hexadecimal the vendor, the product and the version, such as `usb:v1d6bp0246d0213`. A source
    /// other than `bluetooth` and `usb` is a number.
    public var description: String {
        func hex(_ number: UInt16) -> String {
            Hex.string([UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)])
        }
        let source = [1: "bluetooth", 2: "usb"][source] ?? "\(source)"
        return "\(source):v\(hex(vendor))p\(hex(product))d\(hex(version))"
    }
}

extension DeviceInformation: CustomStringConvertible {
    /// A line such as `Polar, H10, serial number 123, hardware 39, firmware 3.1.1, software 2.0`, with each value that
    /// the device has, except for the regulatory certifications.
    ///
    /// Texts of the device are unchanged, including any control characters.
    public var description: String {
        [
            manufacturerName, modelNumber, serialNumber.map { "serial number \($0)" },
            hardwareRevision.map { "hardware \($0)" }, firmwareRevision.map { "firmware \($0)" },
            softwareRevision.map { "software \($0)" }, systemID.map { "system ID \($0)" }, pnpID.map { "PnP ID \($0)" },
            (udi?.label ?? udi?.deviceIdentifier).map { "UDI \($0)" },
        ].line
    }
}
