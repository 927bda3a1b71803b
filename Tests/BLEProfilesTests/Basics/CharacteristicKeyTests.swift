import BLE
import BLEAssignedNumbers
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
    func `a key is for what its name says`(_ key: CharacteristicKey, _ service: String, _ characteristic: String) {
        #expect(key.service?.name == service)
        #expect(key.characteristic.name == characteristic)
    }

    @Test(
        arguments: [
            (Characteristic.cscMeasurement.key, "Cycling Speed and Cadence", "CSC Measurement"),
            (Characteristic.cscFeature.key, "Cycling Speed and Cadence", "CSC Feature"),
            (Characteristic.sensorLocation.key, nil, "Sensor Location"),
            (Characteristic.scControlPoint.key, nil, "SC Control Point"),
            (Characteristic.rscMeasurement.key, "Running Speed and Cadence", "RSC Measurement"),
            (Characteristic.rscFeature.key, "Running Speed and Cadence", "RSC Feature"),
            (Characteristic.cyclingPowerMeasurement.key, "Cycling Power", "Cycling Power Measurement"),
            (Characteristic.cyclingPowerVector.key, "Cycling Power", "Cycling Power Vector"),
            (Characteristic.cyclingPowerFeature.key, "Cycling Power", "Cycling Power Feature"),
            (Characteristic.cyclingPowerControlPoint.key, "Cycling Power", "Cycling Power Control Point"),
            (Characteristic.fitnessMachineFeature.key, "Fitness Machine", "Fitness Machine Feature"),
            (Characteristic.treadmillData.key, "Fitness Machine", "Treadmill Data"),
            (Characteristic.crossTrainerData.key, "Fitness Machine", "Cross Trainer Data"),
            (Characteristic.stepClimberData.key, "Fitness Machine", "Step Climber Data"),
            (Characteristic.stairClimberData.key, "Fitness Machine", "Stair Climber Data"),
            (Characteristic.rowerData.key, "Fitness Machine", "Rower Data"),
            (Characteristic.indoorBikeData.key, "Fitness Machine", "Indoor Bike Data"),
            (Characteristic.trainingStatus.key, "Fitness Machine", "Training Status"),
            (Characteristic.supportedSpeedRange.key, "Fitness Machine", "Supported Speed Range"),
            (Characteristic.supportedInclinationRange.key, "Fitness Machine", "Supported Inclination Range"),
            (Characteristic.supportedResistanceLevelRange.key, "Fitness Machine", "Supported Resistance Level Range"),
            (Characteristic.supportedHeartRateRange.key, "Fitness Machine", "Supported Heart Rate Range"),
            (Characteristic.supportedPowerRange.key, "Fitness Machine", "Supported Power Range"),
            (Characteristic.fitnessMachineControlPoint.key, "Fitness Machine", "Fitness Machine Control Point"),
            (Characteristic.fitnessMachineStatus.key, "Fitness Machine", "Fitness Machine Status"),
        ] as [(CharacteristicKey, String?, String)])
    func `a fitness key is for what its name says`(
        _ key: CharacteristicKey, _ service: String?, _ characteristic: String
    ) {
        #expect(key.service?.name == service)
        #expect(key.characteristic.name == characteristic)
    }

    @Test(
        arguments: [
            (Characteristic.userIndex.key, "User Data", "User Index"),
            (Characteristic.temperatureMeasurement.key, "Health Thermometer", "Temperature Measurement"),
            (Characteristic.intermediateTemperature.key, "Health Thermometer", "Intermediate Temperature"),
            (Characteristic.temperatureType.key, "Health Thermometer", "Temperature Type"),
            (Characteristic.measurementInterval.key, "Health Thermometer", "Measurement Interval"),
            (Characteristic.bloodPressureMeasurement.key, "Blood Pressure", "Blood Pressure Measurement"),
            (Characteristic.intermediateCuffPressure.key, "Blood Pressure", "Intermediate Cuff Pressure"),
            (Characteristic.bloodPressureFeature.key, "Blood Pressure", "Blood Pressure Feature"),
            (
                Characteristic.enhancedBloodPressureMeasurement.key, "Blood Pressure",
                "Enhanced Blood Pressure Measurement"
            ),
            (
                Characteristic.enhancedIntermediateCuffPressure.key, "Blood Pressure",
                "Enhanced Intermediate Cuff Pressure"
            ),
            (Characteristic.glucoseMeasurement.key, "Glucose", "Glucose Measurement"),
            (Characteristic.glucoseMeasurementContext.key, "Glucose", "Glucose Measurement Context"),
            (Characteristic.glucoseFeature.key, "Glucose", "Glucose Feature"),
            (Characteristic.plxSpotCheckMeasurement.key, "Pulse Oximeter", "PLX Spot-Check Measurement"),
            (Characteristic.plxContinuousMeasurement.key, "Pulse Oximeter", "PLX Continuous Measurement"),
            (Characteristic.plxFeatures.key, "Pulse Oximeter", "PLX Features"),
            (Characteristic.weightMeasurement.key, "Weight Scale", "Weight Measurement"),
            (Characteristic.weightScaleFeature.key, "Weight Scale", "Weight Scale Feature"),
            (Characteristic.bodyCompositionMeasurement.key, "Body Composition", "Body Composition Measurement"),
            (Characteristic.bodyCompositionFeature.key, "Body Composition", "Body Composition Feature"),
            (Characteristic.dateTime.key, nil, "Date Time"),
            (Characteristic.recordAccessControlPoint.key, nil, "Record Access Control Point"),
        ] as [(CharacteristicKey, String?, String)])
    func `a key for health is for what its name says`(
        _ key: CharacteristicKey, _ service: String?, _ characteristic: String
    ) {
        #expect(key.service?.name == service)
        #expect(key.characteristic.name == characteristic)
    }
}
