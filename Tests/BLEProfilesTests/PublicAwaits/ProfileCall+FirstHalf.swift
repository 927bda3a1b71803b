import BLE

@testable import BLEProfiles

extension ProfileCall {
    static let firstHalf = [
        ProfileCall("BloodPressure.records(_:timeout:malformed:)") { _ = try await BloodPressure($0).records() },
        ProfileCall("AutomationIO.digitals()") { _ = try await AutomationIO($0).digitals() },
        ProfileCall("AutomationIO.analogs()") { _ = try await AutomationIO($0).analogs() },
        ProfileCall("AutomationIO.aggregate()") { _ = try await AutomationIO($0).aggregate() },
        ProfileCall("AutomationIO.aggregates()") { _ = try await AutomationIO($0).aggregates() },
        ProfileCall("AutomationIO.aggregateKey()") { _ = try await AutomationIO($0).aggregateKey() },
        ProfileCall("AutomationSignal.value()") { _ = try await signal($0).value() },
        ProfileCall("AutomationSignal.values()") { _ = try await signal($0).values() },
        ProfileCall("AutomationSignal.set(_:)") { try await signal($0).set(1) },
        ProfileCall("AutomationSignal.presentationFormat()") { _ = try await signal($0).presentationFormat() },
        ProfileCall("AutomationSignal.userDescription()") { _ = try await signal($0).userDescription() },
        ProfileCall("AutomationSignal.validRange()") { _ = try await signal($0).validRange() },
        ProfileCall("AutomationSignal.valueTrigger()") { _ = try await signal($0).valueTrigger() },
        ProfileCall("AutomationSignal.setValueTrigger(_:)") { try await signal($0).setValueTrigger(.changed) },
        ProfileCall("AutomationSignal.timeTrigger()") { _ = try await signal($0).timeTrigger() },
        ProfileCall("AutomationSignal.setTimeTrigger(_:)") { try await signal($0).setTimeTrigger(.none) },
        ProfileCall("Battery.criticalStatus()") { _ = try await Battery($0).criticalStatus() },
        ProfileCall("Battery.criticalStatuses()") { _ = try await Battery($0).criticalStatuses() },
        ProfileCall("Battery.energyStatus()") { _ = try await Battery($0).energyStatus() },
        ProfileCall("Battery.energyStatuses()") { _ = try await Battery($0).energyStatuses() },
        ProfileCall("Battery.timeStatus()") { _ = try await Battery($0).timeStatus() },
        ProfileCall("Battery.timeStatuses()") { _ = try await Battery($0).timeStatuses() },
        ProfileCall("Battery.healthStatus()") { _ = try await Battery($0).healthStatus() },
        ProfileCall("Battery.healthStatuses()") { _ = try await Battery($0).healthStatuses() },
        ProfileCall("Battery.healthInformation()") { _ = try await Battery($0).healthInformation() },
        ProfileCall("Battery.information()") { _ = try await Battery($0).information() },
        ProfileCall("Battery.informationChanges()") { _ = try await Battery($0).informationChanges() },
        ProfileCall("Battery.estimatedServiceDate()") { _ = try await Battery($0).estimatedServiceDate() },
        ProfileCall("Battery.estimatedServiceDates()") { _ = try await Battery($0).estimatedServiceDates() },
        ProfileCall("Battery.manufacturerName()") { _ = try await Battery($0).manufacturerName() },
        ProfileCall("Battery.modelNumber()") { _ = try await Battery($0).modelNumber() },
        ProfileCall("Battery.serialNumber()") { _ = try await Battery($0).serialNumber() },
        ProfileCall("Battery.level()") { _ = try await Battery($0).level() },
        ProfileCall("Battery.levels()") { _ = try await Battery($0).levels() },
        ProfileCall("Battery.position()") { _ = try await Battery($0).position() },
        ProfileCall("Battery.levelStatus()") { _ = try await Battery($0).levelStatus() },
        ProfileCall("Battery.levelStatuses()") { _ = try await Battery($0).levelStatuses() },
        ProfileCall("BloodPressure.measurements()") { _ = try await BloodPressure($0).measurements() },
        ProfileCall("BloodPressure.intermediateCuffPressures()") {
            _ = try await BloodPressure($0).intermediateCuffPressures()
        },
        ProfileCall("BloodPressure.enhancedMeasurements()") { _ = try await BloodPressure($0).enhancedMeasurements() },
        ProfileCall("BloodPressure.enhancedIntermediateCuffPressures()") {
            _ = try await BloodPressure($0).enhancedIntermediateCuffPressures()
        },
        ProfileCall("BloodPressure.feature()") { _ = try await BloodPressure($0).feature() },
        ProfileCall("BodyComposition.measurements()") { _ = try await BodyComposition($0).measurements() },
        ProfileCall("BodyComposition.feature()") { _ = try await BodyComposition($0).feature() },
        ProfileCall("WeightScale.measurements()") { _ = try await WeightScale($0).measurements() },
        ProfileCall("WeightScale.feature()") { _ = try await WeightScale($0).feature() },
        ProfileCall("CurrentTime.time()") { _ = try await CurrentTime($0).time() },
        ProfileCall("CurrentTime.times()") { _ = try await CurrentTime($0).times() },
        ProfileCall("CurrentTime.setTime(_:)") {
            try await CurrentTime($0).setTime(CurrentTimeValue(DateTime(year: 2026, month: 3, day: 1)))
        },
        ProfileCall("CurrentTime.localTimeInformation()") { _ = try await CurrentTime($0).localTimeInformation() },
        ProfileCall("CurrentTime.setLocalTimeInformation(_:)") {
            try await CurrentTime($0).setLocalTimeInformation(try LocalTimeInformation(bytes: [4, 0]))
        },
        ProfileCall("CurrentTime.referenceTimeInformation()") {
            _ = try await CurrentTime($0).referenceTimeInformation()
        },
        ProfileCall("CyclingPower.measurements()") { _ = try await CyclingPower($0).measurements() },
        ProfileCall("CyclingPower.vectors()") { _ = try await CyclingPower($0).vectors() },
        ProfileCall("CyclingPower.feature()") { _ = try await CyclingPower($0).feature() },
        ProfileCall("CyclingPower.sensorLocation()") { _ = try await CyclingPower($0).sensorLocation() },
        ProfileCall("CyclingPowerControlPoint.setWheelRevolutions(_:)") {
            try await CyclingPower($0).controlPoint.setWheelRevolutions(1)
        },
        ProfileCall("CyclingPowerControlPoint.updateSensorLocation(_:)") {
            try await CyclingPower($0).controlPoint.updateSensorLocation(.chest)
        },
        ProfileCall("CyclingPowerControlPoint.supportedSensorLocations()") {
            _ = try await CyclingPower($0).controlPoint.supportedSensorLocations()
        },
        ProfileCall("CyclingPowerControlPoint.setCrankLength(millimeters:)") {
            try await CyclingPower($0).controlPoint.setCrankLength(millimeters: 1)
        },
        ProfileCall("CyclingPowerControlPoint.crankLengthMillimeters()") {
            _ = try await CyclingPower($0).controlPoint.crankLengthMillimeters()
        },
        ProfileCall("CyclingPowerControlPoint.setChainLength(millimeters:)") {
            try await CyclingPower($0).controlPoint.setChainLength(millimeters: 1)
        },
        ProfileCall("CyclingPowerControlPoint.chainLengthMillimeters()") {
            _ = try await CyclingPower($0).controlPoint.chainLengthMillimeters()
        },
        ProfileCall("CyclingPowerControlPoint.setChainWeight(grams:)") {
            try await CyclingPower($0).controlPoint.setChainWeight(grams: 1)
        },
        ProfileCall("CyclingPowerControlPoint.chainWeightGrams()") {
            _ = try await CyclingPower($0).controlPoint.chainWeightGrams()
        },
        ProfileCall("CyclingPowerControlPoint.setSpanLength(millimeters:)") {
            try await CyclingPower($0).controlPoint.setSpanLength(millimeters: 1)
        },
        ProfileCall("CyclingPowerControlPoint.spanLengthMillimeters()") {
            _ = try await CyclingPower($0).controlPoint.spanLengthMillimeters()
        },
        ProfileCall("CyclingPowerControlPoint.startOffsetCompensation()") {
            _ = try await CyclingPower($0).controlPoint.startOffsetCompensation()
        },
        ProfileCall("CyclingPowerControlPoint.maskMeasurementContent(_:)") {
            try await CyclingPower($0).controlPoint.maskMeasurementContent([])
        },
        ProfileCall("CyclingPowerControlPoint.samplingRateHertz()") {
            _ = try await CyclingPower($0).controlPoint.samplingRateHertz()
        },
        ProfileCall("CyclingPowerControlPoint.factoryCalibrationDate()") {
            _ = try await CyclingPower($0).controlPoint.factoryCalibrationDate()
        },
        ProfileCall("CyclingPowerControlPoint.startEnhancedOffsetCompensation()") {
            _ = try await CyclingPower($0).controlPoint.startEnhancedOffsetCompensation()
        },
        ProfileCall("DeviceInformation.init(of:unreadable:)") { _ = try await DeviceInformation(of: $0) },
        ProfileCall("EnvironmentalSensing.sensors()") { _ = try await EnvironmentalSensing($0).sensors() },
        ProfileCall("EnvironmentalSensing.sensors(of:)") {
            _ = try await EnvironmentalSensing($0).sensors(of: sensor($0).characteristic)
        },
        ProfileCall("EnvironmentalSensing.descriptorChanges()") {
            _ = try await EnvironmentalSensing($0).descriptorChanges()
        },
        ProfileCall("EnvironmentalSensor.value()") { _ = try await sensor($0).value() },
        ProfileCall("EnvironmentalSensor.values()") { _ = try await sensor($0).values() },
        ProfileCall("EnvironmentalSensor.measurement()") { _ = try await sensor($0).measurement() },
        ProfileCall("EnvironmentalSensor.userDescription()") { _ = try await sensor($0).userDescription() },
        ProfileCall("EnvironmentalSensor.presentationFormat()") { _ = try await sensor($0).presentationFormat() },
        ProfileCall("EnvironmentalSensor.validRange()") { _ = try await sensor($0).validRange() },
        ProfileCall("EnvironmentalSensor.triggers()") { _ = try await sensor($0).triggers() },
        ProfileCall("EnvironmentalSensor.setTrigger(_:at:)") { try await sensor($0).setTrigger(.inactive) },
        ProfileCall("EnvironmentalSensor.triggerLogic()") { _ = try await sensor($0).triggerLogic() },
        ProfileCall("EnvironmentalSensor.setTriggerLogic(_:)") { try await sensor($0).setTriggerLogic(.and) },
    ]
}
