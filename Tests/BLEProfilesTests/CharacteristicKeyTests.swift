import BLE
import BLEProfiles
import Testing

/// Every key of this module, against the SIG's names.
@Suite struct CharacteristicKeyTests {
    @Test(
        arguments: [
            (Characteristic.deviceName.key, "GAP", "Device Name"),
            (Characteristic.appearance.key, "GAP", "Appearance"),
            (Characteristic.batteryLevel.key, "Battery", "Battery Level"),
            (Characteristic.heartRateMeasurement.key, "Heart Rate", "Heart Rate Measurement"),
            (Characteristic.bodySensorLocation.key, "Heart Rate", "Body Sensor Location"),
            (Characteristic.heartRateControlPoint.key, "Heart Rate", "Heart Rate Control Point"),
            (Characteristic.manufacturerName.key, "Device Information", "Manufacturer Name String"),
            (Characteristic.modelNumber.key, "Device Information", "Model Number String"),
            (Characteristic.serialNumber.key, "Device Information", "Serial Number String"),
            (Characteristic.hardwareRevision.key, "Device Information", "Hardware Revision String"),
            (Characteristic.firmwareRevision.key, "Device Information", "Firmware Revision String"),
            (Characteristic.softwareRevision.key, "Device Information", "Software Revision String"),
            (Characteristic.systemID.key, "Device Information", "System ID"),
            (
                Characteristic.regulatoryCertifications.key, "Device Information",
                "IEEE 11073-20601 Regulatory Certification Data List"
            ),
            (Characteristic.batteryLevelStatus.key, "Battery", "Battery Level Status"),
            (Characteristic.pnpID.key, "Device Information", "PnP ID"),
        ])
    func `a key is for what its name says`(_ key: AttributeKey, _ service: String, _ characteristic: String) {
        #expect(key.service?.name == service)
        #expect(key.characteristic.name == characteristic)
    }
}
